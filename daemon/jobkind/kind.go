package jobkind

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Of returns the kind of a pod's job, which may not run yet. It is empty for a pod with invalid annotations: its
// evaluation function is unknown.
func Of(p *corev1.Pod) interference.Kind {
	parse := gpushare.Parse
	if !gpushare.RequestsShare(p.Annotations) {
		parse = gpushare.ParseWithLimits
	}
	spec, err := parse(p.Annotations)
	if err != nil {
		return ""
	}
	id, _, _ := Program(p)
	return interference.KindOf(p.Namespace, spec.Similar(id))
}
