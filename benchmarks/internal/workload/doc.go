// Package workload reads which training jobs a benchmark runs, and when each arrives.
//
// A workload is a CSV file with a header and one row per job:
//
//	name             the pod's name: a DNS label
//	kind             vae, cnn, rnn, gru, birnn, lstm, mlp or transformer: the model that benchmarks/jobs trains; or one of Variants
//	arrival_seconds  the time of submission, from the workload's start
//	steps            number of training steps
//	batch_size       samples per step
//	gpu_mem          annotation gpushare/gpu-mem
//	cpu              the pod's initial CPU request, "150m" or whole cores
//	metric           annotation gpushare/metric
//	progress         annotation gpushare/progress: "socket", or "log:<regexp>" for a job without the shim
//	seed             seed of the job's random generators
//	device           cpu, or emulated: the job computes on an emulated GPU; without the column, all jobs have cpu
//
// The parser is strict and names the line and column of an invalid value.
package workload
