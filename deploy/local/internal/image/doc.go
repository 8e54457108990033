// Package image builds container images without Docker: one layer of programs, a configuration and a manifest.
//
// [Write] and [WriteAll] write an image as a tar file that containerd imports; [Image.Build] builds it for a registry.
//
// [Catalogue] lists the images of a local cluster: the four binaries, with the shared libraries that they are linked to
// (most are static and have none); the stock etcd and kube-scheduler, at the paths of their upstream images; and
// "machine", an image of empty folders for jobs that mount this machine's own /usr, and with it its Python and PyTorch.
//
// An image's tag is a digest of its content, unless users name the image in their pods (machine:1). A changed program
// has a changed tag, which makes Kubernetes roll it out; [WriteAll] skips images that exist already.
package image
