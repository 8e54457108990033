// Package bus defines the schema of the state bus, through which the binaries communicate: its keys, their writers,
// their records, and their lifetimes.
//
//	key                                     sole writer    record        lifetime
//	nodes/<node>/gpus                       deviceplugin   NodeGPUs      while the writer is alive
//	nodes/<node>/allocations/<pod uid>      deviceplugin   Allocation    while the pod exists
//	nodes/<node>/reservations/<pod uid>     extender       Reservation   until allocated, expired, or the pod is gone
//	nodes/<node>/epochs/<gpu uuid>          extender       Epoch         while the GPU exists
//	nodes/<node>/load                       coordinator    NodeLoad      while the writer is alive
//	nodes/<node>/speeds                     coordinator    Speeds        while the writer is alive
//	runs/<node>/<program>                   coordinator    ProgramRuns   while the writer is alive
//	jobs/<pod uid>/sample                   coordinator    Sample        while the writer is alive
//	jobs/<pod uid>/advice                   tuner          Advice        until the job ends
//	jobs/<pod uid>/origin                   extender       Sample        one hour from the placement of a pod that continues a job
//	models/interference                     tuner          Interference  persistent
//	models/peaks                            tuner          Peaks         persistent
//	models/loaders                          tuner          Loaders       persistent
//	models/programs/<program>               tuner          ProgramModel  persistent
//	moves/<pod uid>                         extender       Move          until completed, plus one hour
//	moved/<job>                             extender       MovedJob      while the job exists, plus three days
//	gangs/<gang>/<node>                     coordinator    GangRanks     while the writer is alive
//	refusals/<pod uid>                      extender       Refusal       until the pod is recreated
//	widths/<owner uid>                      extender       WidthChange   until 30 days after the last change
//
// All keys are below Prefix. Each key has one writer; all other processes watch it. Liveness is a lease and never a
// timestamp that is compared across machines. A decision is a Put with guards. It fails with ErrConflict if the state
// on which it is based has changed. Values are versioned JSON. Unknown fields survive a rewrite; unknown versions are
// rejected.
//
// A reservation and the epochs of its GPUs are written in one Commit, guarded by these epochs only. Two reservations
// therefore conflict only if they share a GPU. A deleted reservation leaves its epoch, so an older decision still
// conflicts with it. Reservations from before the introduction of epochs remain valid.
//
// Package daemon/etcdbus implements Bus on etcd, membus in memory. Both pass the contract tests of bustest. A Mirror is
// a reader's cache of a watched prefix.
package bus
