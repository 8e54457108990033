// Package workloads embeds the workloads in the benchmarks' binary. Package workload reads them.
package workloads

import _ "embed"

//go:embed demo.csv
var demo string

// Demo returns the workload of the demo: eleven jobs of all eight kinds, arriving over a minute and a half, one of them without
// the shim; and three as people run them, with a progress bar, with two ranks, and with limits equal to requests. Seven of the
// jobs share an emulated GPU that computes.
func Demo() string { return demo }
