// Package network gives a local cluster addresses of its own, and the bridge, the virtual cables and the
// firewall rules that make them real.
//
// Everything follows from the cluster's name. A [Plan] is pure: the name is hashed to one /16 of 10.64.0.0/10
// and 10.128.0.0/10, and where that one is in use (a route of the host, another cluster) the next free one is
// taken. Inside the /16:
//
//	10.x.0.0/24      the bridge: .1 the host (API server, etcd), .11 and up the nodes
//	10.x.64+i.0/24   the pods of node i (i counts from 0)
//	10.x.128.0/20    Services; the API server's is 10.x.128.1
//
// There is no address translation and no forwarding through the host: every node has a route to every other
// node's pods over the bridge, and the host has the same routes, so a packet keeps its true source address.
// Only Services are rewritten, by each node's own kube-proxy inside the node's network namespace.
//
// A bridge, and with it the cables and routes, goes when the cluster goes; the two firewall rules carry the
// bridge's name in a comment, so that they can be found again after a crash.
package network
