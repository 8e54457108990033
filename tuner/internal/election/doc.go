// Package election decides which of several tuners advises: the one that holds a coordination.k8s.io Lease. The others
// serve what they see and wait. A leader that loses its Lease stops advising first and then stands for election again;
// what it may still have under way is stopped by the guards on its writes.
package election
