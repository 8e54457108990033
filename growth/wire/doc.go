// Package wire is the protocol between a job and its coordinator: newline-delimited JSON on a Unix socket. Each
// line has at most MaxLine bytes, a version ("v":1) and a type.
//
//	job → coordinator   progress   step, metrics, samples, step time and how much of it was waiting for data
//	                    describe   batch size, operations and parameters of the model
//	                    ack        the job has applied the config of this generation
//	                    saved      a checkpoint is on disk, with its checksum
//	                    failed     a request to save is answered without one
//	                    stopped    whether the process waits between two steps
//	coordinator → job   config     number of loaders and batch size, by generation
//	                    duty       the fraction of time in which the job may compute, by sequence number
//	                    save       write a checkpoint now
//	                    stop       wait between two steps, after a step that is named for all ranks, or continue
//
// The socket identifies the job: each container has its own socket. Each process of a job has its own connection, and
// names itself in each line (Process). Reports of a job are not trusted: values are bounded here and checked again where
// they are used.
//
// A job may declare a range for its batch size, and report how noisy its gradients are (Batch, Gradients). Coordinators of
// the previous release ignore these fields.
//
// JSON has no number for a metric that is not finite. Such a metric is sent as a string (Metrics). Coordinators of the
// previous release reject a report with such a string, and ignore ranks.
//
// Lines of an unknown type are ignored, so that either side may be older. Lines of an unknown version are an error. The
// job's side of the protocol is growth/shim.
//
// # GPU turns
//
// Jobs that share GPUs compute in turns. A second socket next to the first one carries them, because a turn needs an
// answer within a millisecond. It has lines of the same form, at most MaxTurnLine bytes each:
//
//	job → coordinator   gate   whether the process computes, waits for its turn, or does not need the GPU (Gate)
//	coordinator → job   turn   compute, or stop after a step (Turn)
//
// A job computes until its first turn. An old shim does not connect to this socket, and an old coordinator does not
// create it: such a job is not gated. At the end of file the gate opens. It also opens after TurnBound without a valid
// line. A coordinator that gives no more turns to a job closes the connection. The shim then connects again and
// computes until its next first turn, without the exchange of lines whenever it waits for data.
//
// Each process of a job with several ranks stops after the same step, or none does. AfterStep is that step. A process
// that receives it before that step answers with its step and goes on; it sends GateClosed once it has stopped. A
// process that receives it at that step or later answers with its step and does not stop. Processes of such jobs never
// send GateIdle.
//
// A line may cross another one on its way. A process that waits takes the first turn with Hold that it has not received
// before. Gate.Sequence is the newest turn that it had received.
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
