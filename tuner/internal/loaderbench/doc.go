// Package loaderbench measures what the division of data-loader workers is worth, against an even split and against both
// allocators that A-Dloader published. All of its code is in tests: `make bench-loader` runs TestLoaders.
//
// # Virtual
//
// Random jobs on random nodes. A contestant allocates, and the true curves of the jobs say what that is worth. Trellis knows the
// jobs by measurements with an error of 5 %, as the tuner does; the published allocators know the truth. Two figures:
//
//	throughput  samples/s of all jobs, and the sum over jobs of the fraction of full speed, which the tuner maximises
//	makespan    time until the last of the jobs has ended, with a division at each departure and 4 s for each change
//
// # Real
//
// PyTorch jobs (testdata/job.py) with DataLoaders that wait for storage, decompress, transform and augment images. Steps
// are waits, as on a GPU that computes while the CPU is idle. The shim, its socket, the history of the tuner, its adviser and its
// controller are real. The bus is in memory, and the part of the coordinator between socket and bus is agent_test.go.
//
// The budget of a node is set: loading that waits for storage uses more workers than this machine has cores. In the mix "decode"
// workers compute, and the budget is two, as many as the cores of the machine that the figures are from.
//
// Every allocation that uses the budget is measured once, so the best one is known. It is then measured in turns with the
// contestants.
package loaderbench
