// Package memoryprofile measures how well growth/peaks predicts the largest memory of recorded jobs, and how well growth/goodput
// predicts the memory of a batch size from smaller ones.
//
// memoryprofile.py of benchmarks/jobs records the example jobs at several batch sizes, with two seeds each. A reading every fifth of a
// second stands for one every ten seconds, as a coordinator takes them. The end of a run is known, which it is not on a node.
//
//	own           after 5, 10, 20 and 50 % of a run, from what the job has used so far
//	earlier run   the same with one earlier run of the program at the same size, and with that run alone before the first step
//	described     before the first step, from batch size, operations and parameters: no run of this program at this size is learned
//	twice         what PyTorch's allocator holds at twice the largest size that was measured, from one size and from several
//
// A job whose memory does not grow any more has reached its peak: an interval from that peak on contains it in any case. Cases in
// which the peak was still to come are therefore reported apart.
package memoryprofile
