// Package elastic recommends the number of workers of a job that can run with several.
//
// A worker is one pod of the job. The throughput of w workers is r·w^e, with e at most 1. Before anything is measured, e is 0.8
// with a deviation of 0.15: more workers are rarely as much faster. Throughputs that were measured at different widths, by this job
// or by earlier runs of its program, determine e as far as they agree.
//
// A change restarts the job from a checkpoint. It is recommended only if the time that it saves exceeds its cost and a tenth of
// the remaining time, even if the job scales a deviation worse than expected, and at most MaxChanges times. Each worker of a wider
// job must add at least half of what one worker alone makes. A job whose workers add less than that should give some back: others
// make more of their GPUs. A recommendation names the number of workers that it was made for, and says nothing about a job with another
// number: a user may have scaled it since.
package elastic
