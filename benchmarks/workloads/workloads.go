// Package workloads embeds the workloads in the benchmarks' binary. Package workload reads them.
package workloads

import _ "embed"

//go:embed demo.csv
var demo string

// Demo returns the workload of the demo: nine jobs of all six kinds, arriving over a minute and a half, one of them without the
// shim; and three as people run them, with a progress bar, with two ranks, and with limits equal to requests.
func Demo() string { return demo }
