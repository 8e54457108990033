// Package jobkind identifies what a pod runs. Pods with equal programs are runs of one program: the coordinator predicts one
// from the other, and the extender predicts how such a pod interferes with others before it runs. Both must derive the same
// identity, so both use this package.
package jobkind
