package node

import (
	"strings"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// reportUnknown records an event about annotations of a pod that Trellis does not know, once for each set of them. Admission
// refuses such pods, but not those that existed before its policies, nor annotations of a Binding.
func (n *Node) reportUnknown(pod Pod) {
	if !pod.Running {
		return
	}
	unknown := gpushare.Unknown(pod.Annotations)
	names := strings.Join(unknown, ",")
	if names == n.unknown[pod.Ref.UID] {
		return
	}
	n.unknown[pod.Ref.UID] = names
	if len(unknown) > 0 {
		n.podEvent(pod.Ref, true, "UnknownAnnotation", gpushare.UnknownMessage(unknown[0])+". Trellis ignores the annotation")
	}
}
