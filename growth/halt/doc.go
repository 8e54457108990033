// Package halt lets all processes of a job stop between two steps. Job is a pure state machine for one job: it maps what
// its processes report to the next wire.Stop.
//
// A process with no other rank stops after its present step. Several ranks stop after the same step or not at all: a rank
// that stops one step earlier than another leaves the other in a collective operation. The step is the highest reported
// one, plus the steps that the job makes until the order arrives, plus a margin of at least two. A rank answers an order at
// once. If one of them has passed the step already, a later step is named, and the ranks that have stopped continue up to
// it. A job of which a rank is not connected is not stopped.
//
// Processes that name no world size may be ranks all the same, and stop in the same way. If one of them does not come close
// to the named step, it is of another program, and an earlier step is named. A process that makes no steps, as a DataLoader
// worker, is not waited for.
//
// Ranks on other nodes count like those of this node (Elsewhere). One node leads and names the step; the others take over its order
// (Follow).
package halt
