// Package flowcon divides a node's CPU among training jobs by how much each still grows: FlowCon's Algorithms 1 and 2,
// as printed and as they must be read to work.
//
//	fair              every job the same: the baseline
//	flowcon-literal   the text of the thesis, with no more than the repairs without which it does not run
//	flowcon           the corrected reading
//
// # Corrected
//
// For n jobs with growth g (package efficiency), s = g / Σ g over all of them, and a weight each:
//
//	Progressing, Converged   max(s, 1/(β·n))
//	fewer than two samples   what it was, at first 1: nothing is known yet, so one bad sample starves no newcomer
//	that stay silent         1/n: who reports nothing gets its fair part, neither starved nor preferred
//	Watching                 what it was (at first 1)
//
// Shares are the weights made to add up to 1 with every floor exact: each job gets 1/(β·n), and the rest is divided
// in proportion to what its weight has above that. If growth alone has moved no share by 0.05, the old shares stay,
// as they do within the dwell time after a change. When all jobs are Converged they compete freely: equal shares, and
// the interval doubles, to 16 times its base at most. Arrivals, departures, changes of category bring it back.
//
// # Literal
//
// Raw G against a raw α, one low interval a step down, the floor for CL alone, "unchanged" for WL, no smoothing, no
// hysteresis, an interval that doubles without end. Repairs: G on CPU; Σ over all active jobs; β = 2; WL starts at
// limit 1, and so does a job without two samples, whose G does not exist. Its limits L may add up to anything; here
// they are relative weights, as the carrier (CPU requests) has it.
//
// # Departures from the thesis
//
// Limits are weights, never hard caps, so that no core idles. Algorithm 2's counter, which never moves from 0 as
// printed, is replaced by the caller's comparing of identities: it says so with Input.Interrupted.
package flowcon
