// Package loop is the coordinator's heart: one goroutine that knows the node's jobs and goes round
//
//	observe   reports from sockets and logs, use from cgroups        as they come
//	classify  growth and category of each job                        every interval
//	decide    shares of the node's CPU                               every interval, backed off by the policy, and at
//	                                                                 once on an arrival, a departure, a new category, or
//	                                                                 reports as good as those of a job alike ever were
//	enforce   requests by in-place resize, advice over the sockets   when they differ from what is
//	publish   samples, load, events, annotations                     every interval and on changes
//
// All state belongs to that goroutine; what happens elsewhere is posted to it. It never waits for the API server, the
// bus or a job: those are behind ports that take the newest wish and go on.
//
// # CPU pool
//
// What the jobs of a node share is the sum of the CPU requests that they were made with, so that all requests
// together, and with them the scheduler's accounts, stay what they were. A job takes part if its user lets "cpu" be
// tuned and its pod can be resized in place; others are observed and left alone.
//
// Package resize says which changes are worth a resize, and what is done where kubelet says no: the request goes back to
// what is in force, and the pool is smaller by what can not be had.
//
// # Batch sizes
//
// Loaders are delivered as they are advised. A batch size is tried (package trial): offered once the job's pace is known,
// watched for some intervals, and taken back for good where the job is worse off.
//
// # Going on after a restart
//
// Categories, shares, the work that is owed and what the classifier remembers come back from the last samples on the bus
// or, while it is away, from a file on the node (package recall); original requests from the pods' annotations. Without
// either the present requests stand for the shares, and growth is learned anew.
package loop
