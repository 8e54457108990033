// Package turns gives the turns of GPUs to jobs. It serves one Unix socket per slot, turn.sock, and drives one scheduler of
// growth/turn for each group of GPUs of the plan.
//
//	plan (loop) ─► group: growth/turn ─► job ─► connections ─► processes
//	use  (loop) ◄──────┘                          gate lines ◄──┘
//
// Lines are read as they arrive, because a GPU is idle while a release is on its way. The socket that a line arrives on
// identifies the job. A job that is in no group, or alone in its group, never waits.
//
// # Several processes
//
// The processes of a job stop after the same step or not at all: a process that stops one step earlier than another leaves
// the other in a collective operation, with its GPU busy, until a watchdog kills the job. The server therefore announces a
// step some steps ahead. Each process answers with its present step. If one of them has already gone past the announced
// step, the server lets all of them continue, and announces a later step with twice the margin. If all of them are still
// far from it, the server announces an earlier one. A process that connects in the meantime is asked as well. If they do
// not all stop in time, all of them continue next to the other jobs, and are asked again after a time that doubles with
// each failure. If a process ends in the meantime, and only one is left, that one is asked to stop after its next step.
//
// Ranks start together as well. While one of them is idle, because it saves, those that ask for the turn wait for it, unless
// they are in an earlier step.
//
// A job of which a rank is not connected is not paused, because that rank cannot be stopped. If the connection of a rank
// ends, the others continue.
//
// # Jobs that do not obey
//
// Jobs are not trusted. Lines have a bounded length and rate, a malformed line or many equal ones end the connection, and a
// job that does not read loses it. A job without a connection is not paused and is not waited for. If the coordinator ends, its
// connections end, and every job computes.
package turns
