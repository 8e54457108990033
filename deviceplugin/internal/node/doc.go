// Package node reads and labels this node's Node object.
//
//	Watch     follows the node's annotations
//	Cordon    withholds single GPUs from new jobs, as the operator's annotation says
//	CheckLock detects HAMi, which locks a node by an annotation
//	Labeller  applies the labels by which users select nodes
//
// Labels are applied server-side with their own field manager: outdated labels are removed, and other labels stay.
package node
