// Package gpubusy reads how long pods have used the GPUs of this node, and the memory that they have there. The device plugin,
// the only program with the driver's library, measures it and writes it to a file in the folder that both share (see
// growth/gpuuse).
//
// Without the file, or with one that is too old, nothing is measured: jobs that hold no turn then share as without Trellis.
package gpubusy
