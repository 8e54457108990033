// Package efficiency turns a job's reports into its growth efficiency and its category: the one classifier that shares
// (FlowCon) and moves (SpeCon) are decided by.
//
// With E the evaluation function a job reports and dir its direction (+1 to minimise, −1 to maximise), a sample is the
// mean of the reports since the sample before, and
//
//	Ẽ  = 0.3·E + 0.7·Ẽ                        smoothed, in the metric's unit
//	P  = max(0, dir·(Ẽ_best − Ẽ)) / Δt        progress, metric per second          FlowCon eq. 4.1
//	G  = P / max(cores in use, 0.05)          efficiency, metric per core second   FlowCon eq. 4.2
//	Gp = max(0.999·Gp, G)                     the job's own, slowly forgotten peak
//	g  = G / Gp                               growth, 0..1, without a unit
//
// Two samples in a row with g < α move a job one category down, Progressing to Watching to Converged; one with
// g > 1.5·α makes it Progressing again.
//
// # Departures from the FlowCon thesis
//
//   - |ΔE| counts noise as progress; here progress is signed, of the smoothed metric, and measured against the best
//     value so far, so that a metric which only oscillates does not grow.
//   - The thesis compares G itself to α, which depends on the scale of the loss; g does not.
//   - One low interval moved a job down; here it takes two, and coming back takes 1.5·α.
//   - The efficiency per CPU decides; it is the only resource that the thesis evaluates. That on memory, block and
//     network I/O is computed and told, and decides nothing.
//
// # What is not a sample
//
// Reports that are not finite are refused. An interval without a report is no sample: nothing is learned from silence,
// so a job that has reported nothing stays Progressing, however long. A clock that has not advanced makes no sample
// either; the reports wait for the next. A step that goes backwards is a restart: smoothing and best value begin again,
// while peak and category stay, so that a job which starts over grows at once and one that resumes its end does not
// look young.
//
// The best value begins again, too, when two samples in a row have lost a fifth of all that was gained since the start,
// and five times the metric's usual noise: a learning rate that is warmed up again, or another phase of training. Against
// the old best such a job would stand still until it has caught up. A learning rate that steps down needs no rule: what
// it gains shows against the best.
package efficiency
