// Package results is the folder that a benchmark leaves behind, and what it concludes.
//
//	demo.log      every change and event, a JSON object a line
//	samples.csv   every job at every reading
//	reports.csv   what every job has said of its metric
//	jobs.csv      a row a job and policy: submission, start, end, completion, place, restarts
//	summary.json  goals with their values, the machine, the command, the seeds, the commit
//	plot.svg      package plot
//
// demo.log and samples.csv are written as things happen, so that they are there after a crash too. Report is the same
// conclusion for people. It states harm as plainly as gain, and what was not seen as plainly as what was.
//
// Every benchmark concludes in the same form, Summary. Page makes one page of tables of those that are published.
package results
