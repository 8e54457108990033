// Package loader predicts what data-loader workers are worth to each training job, and divides the cores that a node
// grants to loading among its jobs. It follows A-Dloader ("A Data-Loader Tunable Knob to Shorten GPU Idleness for
// Distributed Deep Learning", IEEE CLOUD 2022): TPM, its throughput model, and in place of WAA, its allocator, the
// exact optimum.
//
// # Model
//
// With w workers per device a job loads and trains at these rates, in samples per second and device:
//
//	y(w) = a/w + b             seconds per sample that loading takes; w = 0 loads as one worker would: y(0) = a + b
//	c                          seconds per sample that computing takes
//	T(w) = min(1/y(w), 1/c)    w ≥ 1: workers load while the job computes
//	T(0) = 1/(y(0) + c)        the job loads by itself, one after the other
//
// a is what one worker parallelises, b what it can not (the hand-over), in seconds per sample. Before the first
// measurement they are the published regression's. One Measurement replaces their scale and sets c; the published
// ratio b/a stays as a weak pseudo-observation until measurements at two or more w replace that as well. An interval
// that did not wait for data (under 5 % of its time, the published threshold) measures c alone, and of y(w) only that
// it is no more than what was seen. Where w itself was measured, T(w) is drawn towards the measured rate: on a
// crowded node more workers can be slower, which no a and b can say.
//
// # Allocation
//
// Job i, with D_i devices on the node, weight v_i and w_i workers per device, gets what maximises
//
//	Σ v_i·T_i(w_i)    subject to    Σ D_i·w_i ≤ C,    0 ≤ w_i
//
// where C is the node's budget in cores (see Budget): a busy worker keeps one core busy. T_i is made monotone first (its running
// maximum), and a worker that adds nothing is never given: unused cores stay unused. Equal D and concave curves: a
// heap of marginal gains. Else a grouped knapsack. Both are exact; ties go to the lower UID.
//
// # Departures
//
// The published allocators keep w_i ≥ 1. Here 0 is always allowed, for it is what a DataLoader really offers, and with
// the floor one core more could make a node worse: at C = ΣD the floor would take workers from the jobs that need
// them. WAA hands out every core and overshoots by up to D−1; this does neither.
//
// # When to change
//
// Rebuilding a DataLoader costs seconds of loading, not a restart. Patience holds a change back until it repays that,
// and until the jobs it touches have kept their last one for a while. A node that runs more workers than its budget
// is changed at once: workers that have no core cost the jobs beside them more than they bring, and a job may be over before
// it has been measured.
package loader
