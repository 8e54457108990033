// Package node is the plugin's view of its own Node object: it follows the annotations by which an operator cordons single
// GPUs, live, and by which HAMi locks the node, and applies the labels that users select nodes by. The labels are server-side applied under a name of
// our own: one that no longer holds goes away, and nobody else's is touched.
package node
