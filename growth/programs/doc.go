// Package programs is the cluster's history of training programs: what the runs of a program on any node say about its next
// run on every node.
//
//	coordinators: Run of each ended job ──bus──► tuner: Model.Merge ──bus──► coordinators: Model.Usable
//
// An ID identifies a program in a namespace. Namespaces do not trust each other, so each has models of its own. The jobs of
// namespaces that an administrator shares have one model, in the namespace Shared, which lists its readers.
//
// # Bounds
//
// A Run has at most MaxPoints points of its metric and MaxBytes bytes of text, a Model at most MaxRuns runs. If there are more,
// the node with the most runs loses its oldest. 10,000 programs with ordinary command lines need less than 64 MB.
//
// # Wrong history
//
// A run may be old, of other data, or invented by a client that writes as a node. Validate refuses what is impossible. Merge limits
// the runs of a node, so that one node cannot displace what the others have measured. Usable leaves out runs whose work is
// far from the median of the runs with equal numbers. Contradicts compares a run with what a node measures itself; a run that
// contradicts it predicts nothing there.
package programs
