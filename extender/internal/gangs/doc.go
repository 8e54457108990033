// Package gangs places the pods of one job all or none, next to a stock kube-scheduler (--gangs). Package growth/gang decides.
//
// # From the first pod to the last
//
//  1. kube-scheduler asks for each pod (Filter). The pod's gang gets the nodes that it offers (Offer). The answer is that the pod
//     waits.
//  2. Once a second a pass decides about the gangs that wait, and reserves and releases room on the bus, as Bind does. It considers
//     those that hold room, and up to 128 others in turn. A gang that lacks a pod, or has one with a scheduling gate, gets none.
//  3. Once all pods of a gang have their room, the pass annotates them (gpushare/placed). kube-scheduler tries a waiting pod again
//     when the pod changes.
//  4. Filter then answers with the node of the reservation, and Bind binds the pod there.
//
// The new pods of a gang that moves have room before they exist (package mover), and are bound without this package.
//
// # Replicas
//
// kube-scheduler asks the extender of its own pod, so one replica knows the offers, and decides. A replica that has no offer for a
// gang, or only old ones, leaves it alone, and a replica releases no reservation that another one has made since its last offer.
// A replica that takes over learns the offers when kube-scheduler asks it. Any replica releases the reservations of a dead one
// after twice the time for which a gang holds a part of its room.
//
// # Sizes
//
// The size of a gang is that in its annotation or environment, or that of its Job: the smaller of its parallelism and of the
// completions that are left. If its Job does not exist or may not be read, its pods are placed one by one. After another error its
// last size counts, and without one its pods wait.
package gangs
