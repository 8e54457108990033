// Package pods watches the pods bound to one node, through an informer with a field selector, so that names which
// kubelet speaks of get their UIDs. It keeps what the books need and drops the rest.
package pods
