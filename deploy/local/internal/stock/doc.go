// Package stock builds the unchanged upstream programs of a local cluster, once, into a versioned cache.
//
// What is built, and from which versions, is pinned by Go modules of their own (deploy/local/stock/…). The cache
// folder is named by a digest of those modules' go.mod and go.sum, the build flags, the Go version and the
// architecture: another version is another folder, and a folder's content never changes. Each program is written
// to a temporary file and renamed, so an interrupted build leaves no incomplete program. A file lock makes a second
// builder wait for the first. A target builds only the programs that it needs: a control plane without nodes has no
// kubelet.
package stock
