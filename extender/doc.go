// Command extender is kube-scheduler's extender for shares of GPUs. It answers which nodes have room for a job, how good
// each of them is, and which pods to evict, and it binds the job to the GPUs that it has reserved.
//
// The path of a request, from top to bottom. A package imports only packages below it:
//
//	kube-scheduler
//	     │ HTTP: filter, prioritize, bind, preempt        explain, inspect
//	webhook        decodes and encodes the bodies
//	     │
//	scheduler      decides on one snapshot; bind reserves, then posts a Binding
//	     │
//	cache          the snapshot: one NodeInfo per node, pods, samples of jobs
//	     │
//	reservations   node records and reservations on the bus, assumed reservations in memory
//	     │
//	apiserver      the client of the API server
//
// Next to this path run reconcile, which corrects plans that kubelet or the API server have overtaken (through scheduler),
// recreate, which recreates pods that kubelet rejected, mover, which moves jobs to other nodes, gangs, which places the pods
// of one job all or none, workers, which changes the number of an elastic job's pods, conflict, which detects another
// extender of the same resource, and gctune, which collects garbage between requests.
//
// Every layer may import request, which reads a pod, podevents, which writes events on pods, and fastpath, which has the
// data structures and the JSON code that make the path fast and can be replaced by plain code. Package main assembles the
// parts (assemble.go).
package main
