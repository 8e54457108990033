// Package deadlinesim runs training jobs with deadlines on the CPU clusters of Qore-DL (J. Systems Architecture 130, 102640, 2022) in
// virtual time, under several systems. All systems get the same jobs, hosts and background load of a seed.
//
// # Hosts
//
// The machines of the published trace have utilisations in multiples of a thousandth of a core. This gives their sizes, which add
// up to the published 160 cores of 7 hosts. Of the 24 hosts only the totals are published.
//
// The background replays the published load, from another time for each host and seed: sorted by time, without the gaps in which
// nothing was measured, and halved, because the machines also ran the experiments' jobs (background.go). It requests the mean of its
// use.
//
// A host divides its CPU as Linux does: by weight, within quotas, and no core is idle that a pod can use (divide.go).
//
// # Jobs
//
// The time of an iteration follows a law that is fitted to the published measurements of one configuration (law.go). Workers are
// independent of each other, so that a job's progress is the sum of theirs; Qore-DL counts so too. Numbers of workers and servers,
// the requests of users relative to the peaks, and the deadlines are those of the job generator in Qore-DL's code (jobs.go). Jobs
// arrive in bursts, as in Microsoft's Philly trace. Peaks and numbers of steps are not published; they are assumed. A fifth of
// the jobs has no deadline.
//
// # Systems
//
//	default scheduler      requests and limits as submitted; the least allocated host; jobs wait until all of their pods fit
//	no limits              the same; CPU that a job does not use goes to others
//	Qore-DL, code          the configurator, queue, placement and four modes of its code with its genetic algorithm; each change is a
//	                       restart
//	Qore-DL, paper         the four cases by load bands and the best size, both from growth/deadline; a queue with its defects repaired
//	even split             small requests; all workers of a host get equal parts
//	Trellis                small requests; growth/placement places by the CPU of the hosts; growth/node divides it under harmless; nothing
//	                       restarts
//	Trellis, qore-dl       the same under the policy qore-dl, the paper's four cases on each host
//
// A node of Trellis decides each minute, and when a pod starts or ends.
//
// Qore-DL is given the true times of iterations, and jobs without deadline with one that is ten times their length. A restart costs
// the 25 s of its code and no iterations. Its code needs four repairs to run here:
//
//   - The number of jobs at a time, from a file that is not published, has no limit.
//   - A round of submission tries jobs until one does not fit, and not only one job. Otherwise it could start one in four minutes.
//   - Jobs that find the buffer full wait in front of it.
//   - A job with one worker has its sensitivity to less CPU computed for half of it. The code divides by zero.
//
// # Ceilings
//
// A deadline that a job misses even alone on the cluster is missed by all systems that keep its number of workers. The tighter ceiling is a
// relaxation (oracle.go), which also has a U: that of hosts with equal loads, where all jobs that have arrived are in memory.
//
// # Harm
//
// The ends of jobs are compared with those under the baseline. What deadlines cost other jobs is the comparison of Trellis with Trellis
// without deadlines, and whether that stays within fair sharing the one with the even split (delays.go). Both have other ends than
// Trellis, so that later jobs are on other hosts: the comparison includes what that changes by chance.
package deadlinesim
