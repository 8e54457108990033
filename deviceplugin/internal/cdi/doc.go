// Package cdi writes a CDI specification (Container Device Interface, tags.cncf.io) of the node's GPUs. With CDI the
// container runtime adds GPUs to containers, without NVIDIA's runtime hook and without variables that an image could
// set itself.
//
// The specification has one device per GPU or MIG instance, named by UUID. It also lists what all devices need:
// control devices, and the user-space libraries of the driver's version. Writer rewrites the file after each change
// of the inventory through the CDI library, which validates it. An emulated GPU is a device that only sets an
// environment variable.
package cdi
