// Package pods watches the pods bound to one node. It provides the UIDs of the names that kubelet uses, and the
// requests and annotations that allocations depend on. It decodes no other fields.
package pods
