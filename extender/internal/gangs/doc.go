// Package gangs places the pods of one job all or none, next to a stock kube-scheduler (--gangs). Package growth/gang decides.
//
// # From the first pod to the last
//
//  1. kube-scheduler asks for each pod (Filter). The pod's gang gets the nodes that it offers (Offer). The answer is that the pod
//     waits.
//  2. Once a second a pass decides about all gangs that wait, and reserves and releases room on the bus, as Bind does.
//  3. Once all pods of a gang have their room, the pass annotates them (gpushare/placed). kube-scheduler tries a waiting pod again
//     when the pod changes.
//  4. Filter then answers with the node of the reservation, and Bind binds the pod there.
//
// kube-scheduler asks the extender of its own pod, so one replica knows the offers, and decides. A replica that takes over
// learns them when kube-scheduler asks again; reservations of the one before expire.
//
// The new pods of a gang that moves have room before they exist (package mover), and are bound without this package.
//
// # Sizes
//
// The size of a gang is that in its annotation or environment, or that of its Job: the smaller of its parallelism and of the
// completions that are left. If a Job cannot be read, its pods are placed one by one.
package gangs
