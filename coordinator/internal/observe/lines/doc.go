// Package lines parses progress reports in text that a job writes, line by line: its log (package podlog) or a file
// (package jobfile).
//
// The text is not trusted. The length of a line and the bytes read at once are bounded, and the excess is skipped. A
// line without a report is not an error.
//
// # Format of a report
//
// For a log the user gives a regular expression. Its first group is the value of the metric. The groups named "step"
// and "total", at any position, are the step and the number of steps of the job. For a file there is no expression:
//
//	0.0312                                      a number alone is the metric
//	step 17/1000 loss=0.0312                    the metric's name, "=" or ":", its value; "step", the step, "/" and the total
//	{"step": 17, "total": 1000, "loss": 0.0312} the same in JSON
//
// Without a step in the text, the number of reports so far is the step.
package lines
