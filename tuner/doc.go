// Command tuner gives advice to running jobs, and serves a dashboard. It learns from the jobs' measurements how many
// data-loader workers each job should use, so that a node's cores contribute as much as possible to the growth of its jobs;
// which batch size, and which requests of resources.
//
// The data flow, from top to bottom:
//
//	bus              records of nodes (GPUs, load) and jobs (samples, advice)
//	   │ watch
//	history          snapshots of the bus, and the last measurements of each job
//	   ├─> web       dashboard and API (package api)
//	   ├─> metrics   Prometheus metrics
//	   ├─> runs      what the nodes have learned about programs, merged into models/programs
//	   ├─> loaders   what data loaders of earlier jobs did, in models/loaders
//	   ├─> resources recommended requests and numbers of workers, from peaks in models/peaks
//	   └─> advise    a throughput model per job; divides each node's cores for loading; batch sizes
//	          │ compare-and-swap, by the leader only (package election)
//	bus              jobs/<pod uid>/advice, which the coordinator applies, verifies and rolls back
//
// What is learned is kept in a model on the bus by package learn. While the bus is unavailable, the last snapshot is served together with the error, and no advice is given.
package main
