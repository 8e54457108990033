package mover

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/move"
)

// maxName bounds the name of a pod, by which its host is named too.
const maxName = 63

// successor identifies the pod that will continue the job.
func successor(pod *corev1.Pod, r move.Record) move.Successor {
	p := request.Identity(pod)
	if r.Bare {
		suffix := fmt.Sprintf("-%s", r.ID[len(r.ID)-8:])
		return move.Successor{Namespace: p.Namespace, Name: p.Name[:min(len(p.Name), maxName-len(suffix))] + suffix}
	}
	return move.Successor{Namespace: p.Namespace, Owner: p.Owner, Index: p.Index}
}
