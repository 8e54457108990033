// Package flowcon divides a node's CPU among training jobs by their growth. It implements Algorithms 1 and 2 of the
// FlowCon thesis in two readings, and the baseline. Package policy names them:
//
//	fair              equal shares
//	flowcon-literal   the text of the thesis, with the repairs without which it does not run
//	flowcon           the corrected reading
//
// # Corrected reading
//
// Each of n jobs has a weight. With its growth g (package efficiency) and s = g / Σ g over all jobs, the weight is
//
//	Progressing, Converged      max(s, 1/(β·n))
//	Watching                    its previous weight, initially 1
//	fewer than two samples      its previous weight, initially 1: one bad sample must not starve it
//	silent                      1/n: a job that never reports gets its fair share
//
//	β    sets the floor, 1 to 4          n    number of jobs
//	g    growth, 0..1                    s    relative growth, 0..1
//
// Shares normalise the weights with exact floors: each job gets 1/(β·n), and the rest is divided in proportion to the
// excess of each weight over the floor. Two rules prevent flapping. If growth alone moves no share by 0.05, the shares
// stay; and they stay for a dwell time after each change. When all jobs have converged, they get equal shares, and the
// decision interval doubles up to 16 times its base. An arrival, a departure or a change of category resets it.
//
// # Literal reading
//
// Literal compares raw G with a raw α, demotes after one low interval, applies the floor to CL only, leaves WL
// unchanged, and has no smoothing, no hysteresis, and an interval that doubles without bound. The repairs are: G is per
// CPU; Σ G is over all active jobs; β = 2; WL starts at limit 1, and so does a job with fewer than two samples, which
// has no G. The limits of the thesis may add up to any number. Here they are relative weights, because CPU requests
// are.
//
// # Departures from the thesis
//
// Limits are weights and never hard caps, so no core idles. Algorithm 2 detects arrivals and departures by a counter
// that stays at 0 as printed. Here the caller compares the sets of jobs and sets Input.Interrupted.
package flowcon
