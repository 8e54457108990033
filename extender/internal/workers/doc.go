// Package workers changes the number of workers of elastic jobs to the one that the tuner recommends (--workers). Package
// growth/elastic decides what is next; this package observes, makes it so through the API server, and keeps the records on the bus.
//
// A worker is a pod. A job takes part if its pods have gpushare/elastic, and list workers in gpushare/tune. Its owner is the Job of the
// pods, whose parallelism is the number, or else the object above them that has the subresource scale, such as a Deployment.
//
// Every five seconds each replica
//
//  1. lists the pods of elastic jobs, by their owner
//  2. reads the record of the owner's last change from the bus, and then the owner and its pods
//  3. replaces the record by the one that follows, if no other replica has (compare-and-swap)
//  4. does what the record says: gpushare/save on all pods, and after their answers the new number in the owner
//
// The owner is changed only at the resource version that was read after the record. Pods that are there stay: the job's
// launcher (torchrun --nnodes=1:4, for instance) takes in the new workers, or goes on without those that leave.
package workers
