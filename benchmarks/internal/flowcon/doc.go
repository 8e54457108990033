// Package flowcon plays the schedules of FlowCon's evaluation (ICPP 2019) on a real kubelet with real jobs: three
// jobs at fixed times, and five, ten and fifteen at random ones, on a node of one core, under each policy.
//
//	Schedules ──> Plan: which passes are still to do ──> Bench plays one ──> Journal: a line of JSON for each ──> Goals
//
// All of it takes hours. So the journal is what counts: whoever begins again with the same one goes on where it ends, and
// Goals are of whatever it has. A schedule is the same in all passes; policies take turns within a repeat, forward in one
// and backward in the next, so that a machine that slowly becomes slower favours nobody. Its jobs draw other weights and data
// in every repeat. By default each pass has a namespace of its own, and nobody has seen its jobs before; with --remember the
// repeats of a policy share one, as the jobs of a team do, and all but the first are foretold by jobs like them.
//
// Jobs take about half a minute alone and arrive within a quarter of the study's time; see Schedules.
package flowcon
