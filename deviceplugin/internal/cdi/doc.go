// Package cdi writes the node's GPUs down as a CDI specification (Container Device Interface, tags.cncf.io), so that a
// container runtime puts them into containers itself: no NVIDIA runtime hook, no environment variable that an image
// could set too.
//
// The specification holds one device per GPU or MIG instance, named by UUID, and what all of them need: the
// control devices and the driver's user-space libraries, found by the driver's version. It is written through the CDI
// library, which validates it, again at each change of the inventory. An emulated GPU is a device too, that brings an
// environment variable and nothing else.
package cdi
