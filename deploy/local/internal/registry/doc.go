// Package registry pushes images to a container registry and resolves their digests, without Docker.
//
// A [Target] is a registry and the prefix of the image names in it. [Push] builds each image and uploads it, unless the
// registry has the same image under the same tag. Credentials are those that `docker login` and `podman login` store.
//
// Connections use HTTPS. Plain HTTP is accepted for loopback addresses, and elsewhere only where [Target.PlainHTTP] is
// set: an attacker on the network could replace the images.
package registry
