// Package pods follows the pods bound to one node, so that names which kubelet speaks of get their UIDs. It reads what
// the books need and nothing else.
package pods
