// Package loader predicts the value of data-loader workers for each training job and divides a node's loading cores
// among its jobs. It follows A-Dloader ("A Data-Loader Tunable Knob to Shorten GPU Idleness for Distributed Deep
// Learning", IEEE CLOUD 2022): its throughput model TPM and, in place of its allocator WAA, an exact optimum.
//
// # Model
//
// With w workers per device, a job loads and trains at these rates:
//
//	y(w) = a/w + b             loading time, seconds per sample; y(0) = a + b: a job without workers is like one worker
//	c                          computing time, seconds per sample
//	T(w) = min(1/y(w), 1/c)    throughput for w ≥ 1, samples/s per device: workers load while the job computes
//	T(0) = 1/(y(0) + c)        throughput for w = 0: the job loads and computes in turn
//	a                          loading time that workers share, seconds per sample
//	b                          loading time that they do not share (the hand-over), seconds per sample
//
// The prior for a and b is the published regression. The first Measurement, which is the batch size and the split of a
// step into loading and computing, replaces the scale of the prior and sets c. After a change of the batch size a and b
// remain, and c is measured again: the time of a kernel does not grow in proportion to its samples.
// The published ratio b/a remains as a weak pseudo-observation until measurements at two or more w replace it too. If
// the job waits for data less than 5 % of an interval (the published threshold), the interval measures c and gives only
// an upper bound for y(w), and without other intervals half of the bound is expected. At a measured w, T(w) is pulled towards the measured rate: on a crowded node, more workers
// can be slower, which a and b cannot express.
//
// # Allocation
//
// Job i has D_i devices on the node, a weight v_i per sample/s, and w_i workers per device. Allocate maximises
//
//	Σ v_i·D_i·T_i(w_i)    subject to    Σ D_i·w_i ≤ C,    0 ≤ w_i
//
// C is the node's budget in cores: those that training processes leave (see Training). A busy worker uses one core. T_i is
// replaced by its running maximum, and a worker that adds nothing is never assigned: unused cores remain unused. With equal D
// and concave curves, a heap of marginal gains is exact. Otherwise a grouped knapsack is. Ties go to the lower UID.
//
// A job with devices on several nodes has equal w on all of them, because a synchronous step ends when the slowest rank
// ends. Its T(w) is that of its slowest rank. AllocateNodes tries each w of the jobs that span nodes, and divides what they
// leave of each node alone:
//
//	maximise over w_s of the spanning jobs    Σ v_s·D_s·T_s(w_s) + Σ best_n(C_n − Σ D_sn·w_s)
//
// best_n(C) is the value of the other jobs of node n with C cores. This is exact for a few spanning jobs; of many, it
// improves two at a time, together if they share a node.
//
// # Departures from the paper
//
// The published allocators keep w_i ≥ 1. Here 0 is allowed, as in PyTorch's DataLoader. With a minimum of 1, one more
// core could make a node worse: at C = ΣD every device gets one worker, even if another job
// needs them more. WAA assigns every
// core and exceeds the budget by up to D−1; Allocate does neither.
//
// # Changes
//
// Rebuilding a DataLoader costs seconds of loading but no restart. ChangePolicy makes a change only if
//
//	Σ (value after − value before) · remaining time  >  3 · Σ over the changed jobs: value before · time of a rebuild
//
// and the affected jobs have kept their last number for a while. The time of a rebuild is that of the job's last one, and 4 s
// before it was measured. Reallocate limits changes to arrivals and departures of jobs. A node that runs more workers than its
// budget changes at once: workers without a core cost the other jobs more than they gain, and a job may end before it
// is measured.
package loader
