// Package qoredl reads the data that Qore-DL (J. Systems Architecture 130, 102640, 2022) published with its code, and files in
// the same formats.
//
// ReadIterations reads iteration times of training jobs on a CPU cluster: data1.csv of resource_ietration_time, with the columns
//
//	batch                       samples per iteration
//	flops                       floating-point operations; two units occur, see Configuration.FLOPs
//	params                      parameters of the model
//	cpu_normalized              granted CPU over the predicted peak of the job
//	mem_normalized              granted memory over the predicted peak of the job
//	time_avg_for_100_iteration  seconds for 100 iterations
//
// Several rows may have the same configuration and allocation. They are repetitions, so that an evaluation of predictions has
// to split the rows by configuration.
//
// ReadUtilisation reads the load of the cluster's machines: data1.csv of node_resource_traces, with a first column of numbers and the columns
//
//	machine_cpu_uti, machine_memory_uti  use of the machine, as fractions
//	cluster_cpu, cluster_memory          use of the cluster, not read
//	machine                              its name
//	time(s)                              seconds since the first sample
//
// The parsers are strict and bounded. Errors name the line and the column.
package qoredl
