// Package lines reads progress out of text that a job writes, line by line: what it prints (package podlog) or keeps in
// a file (package jobfile).
//
// The text is the job's own: a line has a bound, a look reads a bounded amount, and what lies beyond either is
// skipped. A line without a report in it is no error.
//
// # What a report looks like
//
// For the log the user gives a regular expression, whose first group is the metric's value; a group named "step" is
// the step and one named "total" the number of steps there will be, both in any place. For a file it takes none:
//
//	0.0312                                      a number alone is the metric
//	step 17/1000 loss=0.0312                    the metric's name, "=" or ":", its value; "step", the step, "/" and the total
//	{"step": 17, "total": 1000, "loss": 0.0312} the same in JSON
//
// Without a step, reports are counted.
package lines
