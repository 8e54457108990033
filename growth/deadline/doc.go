// Package deadline decides which jobs grow and which give way so that jobs end before the deadlines of their users. It implements the
// adjuster of Qore-DL (J. Systems Architecture 130, 102640, 2022) by the conditions of the paper.
//
// # Timeout degree
//
// The timeout degree of a job is its remaining time minus the time to its deadline,
//
//	O = T_E − T_A        O > 0: the job will miss its deadline
//
// and has the interval of the remaining time (degree.go).
//
// # Sensitivity
//
// An Option is one way to run a job from now on. The sensitivity of a job to an option is the time that it gains per unit of
// resource (option.go). A change that restarts the job has its measured cost subtracted from the gain. A change in place, of a CPU
// request or of a part of the GPU's time, costs nothing.
//
// # Four cases
//
//	1  some jobs are late, load ≤ θ2           the late jobs grow, the most sensitive first
//	2  some jobs are late, load > θ2           likewise, and jobs that are early give way, the least sensitive first
//	3  no job is late, load ≤ θ1               the most sensitive job grows
//	4  no job is late, load > θ3               the least sensitive job gives way
//
// In all other cases nothing changes (adjust.go). The paper takes the first job of each list.
//
// # Size
//
// The options of a job are few, so all of them are evaluated. The paper searches the same space with a genetic algorithm, which
// finds the best option in about half of the cases. Ties are broken by the least resource, then by name: the same input has the same result.
//
// # On a node
//
// Divide applies the cases to shares: of the CPU, or of the time of GPUs, in place (divide.go). That is policy.QoreDL, for comparison. Memory
// is never changed. policy.Harmless, the default, has a rule of its own for each case:
//
//	1  late jobs grow             the work of a deadline is due in the plan before the slack is divided; no load band is needed, because
//	                              the plan knows what is free
//	2  early jobs give way        they do as far as they end no later than under fair sharing; the paper knows no such bound
//	3  grow while the load is low what no job uses goes to the others at all times
//	4  give way under high load   no job gets less than it needs to end as under fair sharing
//
// Package fairfinish uses the order of First for the deadlines of users. It finds the share of each job as a bound on a plan and needs no
// options.
//
// # Other nodes
//
// Elsewhere finds the nodes on which a job at risk would be in time if it moved there, without that any job gives way.
package deadline
