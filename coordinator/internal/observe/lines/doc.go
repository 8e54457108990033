// Package lines parses progress reports in text that a job writes: its log (package podlog) or a file (package jobfile).
//
// The text is not trusted. The length of a record and the bytes read at once are bounded. A record without a report is
// not an error.
//
// # Records
//
// Text is read in records. A record ends at a newline, and also where a terminal would overwrite the text: at a carriage
// return, a backspace, or an escape sequence that moves the cursor. So each state of a progress bar is a record. Other
// escape sequences, such as colours, are removed. Of a record that is too long its end is kept.
//
// The last record of a stream may have no end yet. It is read as well: once a number in it is followed by more text, and
// in any case when the stream is silent for a while or its container ends. Its report is not repeated when it ends.
//
// # Format of a report
//
// For a log the user gives a regular expression. Its first group is the value of the metric. The groups named "step",
// "total", "epoch" and "rank", at any position, are the step, the number of steps of the job, the epoch and the rank. For
// a file there is no expression:
//
//	0.0312                                      a number alone is the metric
//	step 17/1000 loss=0.0312                    the metric's name, "=" or ":", its value; "step", the step, "/" and the total
//	{"step": 17, "total": 1000, "loss": 0.0312} the same in JSON, or as Python prints a dictionary
//
// The last match in a record counts. A match that begins inside a word, as loss in val_loss, counts only if there is no
// other. Evaluations, as in "eval: loss 0.5", are not reported for a job that also reports its training, unless the
// metric's name or the expression asks for them.
//
// Without a step in the text, the number of reports so far is the step. A progress bar that starts again after it was
// full begins a new epoch.
//
// Numbers may be in quotes and have commas between thousands. A number that the expression captures only in part, as
// "[0-9.]+" does with 2.3e-05, is read to its end. NaN and infinity are reported as such, also if the expression matches
// only digits.
//
// # Ranks
//
// Several processes of a job may share a log. A rank in the text separates their reports: "rank=1", "[rank1]", and the
// prefixes of torchrun, mpirun and srun.
package lines
