package mover

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/move"
)

// maxName bounds the name of a pod, by which its host is named too. A copy has a suffix.
const (
	maxName = 63
	suffix  = 8 // of the ID of the move
)

// stem returns the part of a pod's name that its copy keeps.
func stem(name string) string { return name[:min(len(name), maxName-suffix-1)] }

// successor identifies the pod that will continue the job.
func successor(pod *corev1.Pod, r move.Record) move.Successor {
	p := request.Identity(pod)
	if r.Bare {
		return move.Successor{Namespace: p.Namespace, Name: stem(p.Name) + "-" + r.ID[len(r.ID)-suffix:]}
	}
	return move.Successor{Namespace: p.Namespace, Owner: p.Owner, Index: p.Index}
}
