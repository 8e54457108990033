// Package workload reads which training jobs a benchmark runs, and when each arrives.
//
// A workload is a CSV file with a header and one row a job:
//
//	name             the pod's name: a DNS label
//	kind             vae, cnn, rnn, gru, birnn or lstm: which model benchmarks/jobs trains
//	arrival_seconds  when it is submitted, counted from the workload's start
//	steps            training steps until it is done
//	batch_size       samples a step
//	gpu_mem          annotation gpushare/gpu-mem
//	cpu              the pod's CPU request, "150m" or whole cores; what Trellis starts from
//	metric           annotation gpushare/metric
//	progress         annotation gpushare/progress: "socket", or "log:<regexp>" for a job without the shim
//	seed             of the job's random generators
//
// The reader is strict. Whatever it refuses, it names by line and column: a benchmark that silently ran something else
// than its file says would be worse than none.
package workload
