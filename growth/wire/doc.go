// Package wire is the protocol between a job and its coordinator: newline-delimited JSON on a Unix socket. Each
// line has at most MaxLine bytes, a version ("v":1) and a type.
//
//	job → coordinator   progress   step, metrics, samples, step time and how much of it was waiting for data
//	                    ack        the job has applied the config of this generation
//	                    saved      a checkpoint is on disk, with its checksum
//	coordinator → job   config     number of loaders and batch size, by generation
//	                    duty       the fraction of time in which the job may compute, by sequence number
//	                    save       write a checkpoint now
//
// The socket identifies the job: each container has its own socket. Each process of a job has its own connection, and
// names itself in each line (Process). Reports of a job are not trusted: values are bounded here and checked again where
// they are used.
//
// JSON has no number for a metric that is not finite. Such a metric is sent as a string (Metrics). Coordinators of the
// previous release reject a report with such a string, and ignore ranks.
//
// Lines of an unknown type are ignored, so that either side may be older. Lines of an unknown version are an error. The
// job's side of the protocol is growth/shim.
//
// # Duty and the previous release
//
// The previous release sends the duty in a field of its configs, under the generation of the config. During a rolling
// update:
//
//	new coordinator, old shim   The shim ignores duty messages, and a config without a duty resets its duty to 1. The
//	                            job computes all the time until its container is restarted with the new shim.
//	old coordinator, new shim   The shim obeys the duty in configs, as long as its connection has brought no duty message.
package wire
