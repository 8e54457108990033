// Package election elects the leader among several tuners by a coordination.k8s.io Lease. Only the leader gives
// advice; the others serve the dashboard and wait. A leader that loses its Lease first stops giving advice and then
// becomes a candidate again. Guards on its writes make writes in progress fail.
package election
