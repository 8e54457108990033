// Package batchsize measures how good the batch size is to which Trellis brings a job, against the best fixed size.
//
// A job is driven by the code that runs in a cluster: the state machine of the coordinator (growth/node) measures step times and
// the noise of gradients, and tries, verifies and takes back sizes; package goodput chooses the next size as in the tuner.
//
//	simulated   the time of a step and the noise scale are given (Curves); each interval has an error of 5 %
//	real        a PyTorch job of benchmarks/jobs with its shim, on this machine; an interval is one second instead of ten
//	gradients   what the shim's gradients() costs: its time in steps of a job
//
// The best fixed size is found by exhaustive search: over all sizes of a simulated job, and over the candidates of the search of a
// real one, each measured several times in turns. Goodput is what package goodput means by it: samples per second, times the value of a
// sample. For a real job the value follows from the noise scale that was measured, so the figures say nothing about the quality of
// this model.
package batchsize
