// Package flowcon runs the schedules of FlowCon's evaluation (ICPP 2019) on a real kubelet with real jobs: three
// jobs at fixed times, and five, ten and fifteen at random times, on a node of one core, under each policy.
//
//	Schedules ──> Plan: the missing passes ──> Bench runs each ──> Journal: one line of JSON per repeat ──> Goals
//
// All passes take hours, so the journal is durable: a later call with the same journal continues, and Goals covers all of
// its records. A schedule is the same in all passes. The order of the policies alternates between repeats, so that a change
// of the machine's speed favours none of them. Each repeat has other initial weights and data. By default each pass has its own
// namespace, without history. With --remember the repeats of a policy share a namespace, as the jobs of a team do, and
// forecasts come from the earlier repeats.
//
// The variants harmless+here and harmless+elsewhere play one more repeat first: on the same node, or on another one. They show
// what a node gains by what it has seen itself, and by what only another node has seen.
//
// Jobs take about half a minute alone and arrive within a quarter of the study's time; see Schedules.
package flowcon
