// Package turn schedules GPU turns. A job computes while it holds the turn of all of its GPUs, and waits between two steps
// otherwise. A Scheduler is a pure state machine for a group of GPUs: Step maps an event and the time to Effects.
//
//	        Ready            Grant
//	idle ───────────► ready ───────► holding
//	  ▲                 ▲               │ Revoke
//	  │ Idle            │ Ready         ▼
//	  └─────────────────┴─────────── stopping ──► overdue   after Timeout
//
// # Order
//
// Every job has a virtual time: the time for which it had its GPUs, divided by its share (start-time fair queueing, Goyal et
// al., SIGCOMM 1996). The ready job with the least virtual time is next. It holds for a quantum, which is its part of Period
// among the jobs that compete with it. Rounding therefore never adds up: after any time, the held times of two jobs that
// are always ready differ from their shares by about one quantum.
//
// A job that becomes ready after a pause continues at most Credit behind the least virtual time of the jobs that compete.
// It gets back the time that it left to others for a short pause, and cannot save up a long one. A job that held without
// answering is charged for all of it, up to Debt ahead of the others, so that it waits a bounded time afterwards.
//
// A job that was idle and is behind does not wait for the end of the quantum: the holder stops after its step. Otherwise a
// job that waits for data after each step would make one step per quantum of the others.
//
// # Work conservation
//
// A job that is idle holds nothing, and a ready job gets free GPUs at once. A quantum ends a turn only if a ready job waits
// for one of the GPUs. If the next job needs several GPUs and some of them are held, others may use the free ones in the
// meantime, but only until the quanta of the holders end.
//
// One case is excepted. If a job is behind its share by more than the rotation of the turn explains, its GPUs are kept for it
// in pauses that are usually shorter than the next job takes to stop (see pausing). Kept time is part of the job's share, like
// time held: the shares of the others are not smaller for it.
//
// # Sets
//
// The jobs of a set hold the turn of their GPUs together, because they are faster so. A member that becomes ready computes next
// to the others until their turn ends, which ends for all of them. Each is charged by its speed in the set: the work of all
// jobs follows the shares, and a job that has no share of its own gets what the others leave.
//
// # Bound
//
// A job that holds has to answer a Revoke within Timeout. If it does not, it is overdue: it is taken for a job that cannot
// be paused, and the next one gets the turn as under plain sharing. A job that computes although another one has the turn,
// several times in a row, has half the time to answer each time: a job that never waits for its turn, and answers late, would
// otherwise have the GPU to itself for most of the time. A ready job thus waits at most
//
//	Σ over the jobs k that compete with it of (quantum(k) + Timeout)  +  the virtual time by which it is ahead
//
// No turn is given twice: a job gets a turn only if it is ready, and its GPUs only if no other job holds or is stopping
// there, except jobs of its set.
package turn
