// Package network gives a local cluster its own addresses, a bridge, veth pairs and firewall rules.
//
// Everything follows from the cluster's name. A [Plan] is pure: it hashes the name to one /16 of 10.64.0.0/10 and
// 10.128.0.0/10. If that /16 is in use (a route of the host, another cluster), it takes the next free one. Inside the /16:
//
//	10.x.0.0/24      the bridge: .1 the host (API server, etcd), .11 and up the nodes
//	10.x.64+i.0/24   the pods of node i (i counts from 0)
//	10.x.128.0/20    Services; the API server's is 10.x.128.1
//
// There is no address translation and no forwarding through the host: every node has a route to every other
// node's pods over the bridge, and the host has the same routes, so a packet keeps its true source address.
// Only Services are rewritten, by each node's own kube-proxy inside the node's network namespace.
//
// The bridge, the veth pairs and the routes are deleted with the cluster. The two firewall rules have the bridge's name in
// a comment, so that they can be found after a crash.
package network
