// Package stock builds the unchanged upstream programs that a local cluster consists of, once, into a versioned cache.
//
// What is built, and from which versions, is pinned by Go modules of their own (deploy/local/stock/…). The cache
// folder is named by a digest of those modules' go.mod and go.sum, the build flags, the Go version and the
// architecture: another version is another folder, and a folder's content never changes. Each program is written
// beside its place and renamed, so a build that was killed leaves no half program; a file lock lets a second builder
// wait for the first and then find everything there. A target builds only what it needs: a control plane without
// nodes has no kubelet.
package stock
