// Package shim has gpushare.py, the module through which a training job communicates with the coordinator of its node.
//
// The file needs only the standard library of Python 3.8 or newer. The device plugin writes it to the directory that a
// container has as /run/gpushare, which is on the container's PYTHONPATH, next to the coordinator's socket. A job calls
//
//	import gpushare
//	gpushare.step(loss=loss.item(), samples=len(batch))
//
// once per training step. Nothing else is required. on_save, save and resume are for checkpoints. The functions loaders,
// batch_size, changed, save_requested, saved and timed are for jobs that may be tuned while they run, or moved. describe says
// what a job trains, so that its memory and step time can be predicted. timed and idle say when a job does not need its GPU;
// drain_with is for frameworks other than PyTorch.
//
// # Guarantees to the job
//
// A call costs a few microseconds and never waits for the coordinator: a daemon thread owns the socket, and a step only
// adds to one small aggregate, which is reported at most ten times a second. The exceptions are the waits for the GPU
// below, those of a job that is paused, and the job's own function that saves. A coordinator that is absent, restarted,
// silent or hostile does not affect the training, nor does a fork.
//
// # Turns of the GPU
//
// Jobs that share a GPU compute in turns, which come over a socket of their own. A job waits for its turn at a step
// boundary, after it has drained the GPU. While it has the turn, a step costs one poll that does not wait.
//
// A job gives the turn up while it waits for data, if its waits are usually longer than a millisecond, in the context
// idle, and after its last step. After that step, each batch of a final evaluation has a turn if timed iterates over the
// batches; other work computes next to the job that has the turn. Data loading that itself computes on the GPU must not be
// wrapped with timed. Processes of a job with several ranks keep the turn instead: other ranks may wait for them in a
// collective.
//
// The wait ends when the coordinator is gone or silent (wire.TurnBound), and when the job should save or end: a save
// request is open, or the main thread has handled a signal such as SIGTERM. The job then reports that it computes.
//
// # Duty
//
// A coordinator without turns sends a duty. With a duty below 1, a step of compute time c is followed by a sleep of
// c·(1/duty − 1), where c is smoothed and outliers are clipped. The job thus computes for the fraction duty of the
// time. The gate opens by itself after 30 s without a coordinator.
//
// # Protocol, version 1
//
// Both sides send newline-delimited JSON, at most 64 KiB a line. Each line has "v":1 and a "type". The docstring of the
// module lists the fields. The folder testdata has lines of each type: those that the shim writes (progress, describe,
// ack, saved, gate), those that it must accept (config, duty, save, turn, and config-previous of the previous release), and
// those that it must ignore (ignored, turn-ignored).
//
// Times are in seconds. step_seconds and load_seconds are means per step since the last report. The time of a step
// includes loading and excludes the sleep of the gate; it is 0 if no duration is known yet. A metric that is not
// finite is a string, because JSON has no number for it.
//
// Each process of a distributed job has its own connection and names its rank on each line, as far as it knows the rank.
//
// A config is a patch: it does not change a value that it leaves out. A duty message sets the duty. Generations of
// configs and sequence numbers of duties count within one connection, because a restarted coordinator may start over.
// Package wire describes the combinations with the previous release.
//
// An ack is sent once the job has fetched each changed value that it uses, or at once if nothing has changed. A job
// that never fetches its batch size never acknowledges one.
package shim
