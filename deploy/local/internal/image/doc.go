// Package image writes container images without Docker and without a registry: one layer of programs, a configuration
// and a manifest, in one tar file that containerd imports ([Write]).
//
// [Catalogue] says which images a local Trellis consists of: the four binaries, each with nothing beside it but the
// shared libraries that it was linked to (most are static and have none); the stock etcd and kube-scheduler, at the
// paths that their upstream images have them at, so that one manifest fits both; and "machine", an image of empty
// folders for jobs that mount this machine's own /usr, and with it its Python and PyTorch.
//
// An image's tag is a digest of what it holds, unless users name it in their pods (machine:1). So a changed program is
// a changed tag, which is what makes Kubernetes roll it out, and [WriteAll] need not write again what is there already.
package image
