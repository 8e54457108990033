// Package pods converts the pods of one node to what decisions need of them (growth/node): whose they are, what runs, which
// CPU requests they have, and whether those may change while they run.
//
// Only CPU requests of ordinary containers are ever changed, and only where that cannot change the pod's QoS class or
// restart a container.
package pods
