// Package pods converts the pods of one node to the input of decisions (growth/node): their owners, what they run,
// their CPU requests, and whether those may change while they run.
//
// Only CPU requests of ordinary containers are changed, and only if that changes neither the pod's QoS class nor
// restarts a container.
package pods
