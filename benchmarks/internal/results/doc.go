// Package results writes the result folder of a benchmark and its summary.
//
//	demo.log      every change and event, one JSON object per line
//	samples.csv   every job at every reading
//	reports.csv   every metric report of every job
//	jobs.csv      one row per job and policy: submission, start, end, completion, node, restarts
//	summary.json  goals with their values, settings, machine, command, seeds, commit
//	plot.svg      the chart of package plot
//
// demo.log and samples.csv are written during the run, so a crash loses nothing. Report prints the conclusion for a reader:
// losses as well as gains, and the changes that were not seen.
//
// Every benchmark writes a Summary. Page renders the published summaries as tables.
package results
