package webhook

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
)

// retryError is the error of a request that may be repeated: the result of preempt has no field for errors.
type retryError struct{ cause error }

func (e retryError) Error() string { return e.cause.Error() }
func (e retryError) Unwrap() error { return e.cause }

func (h *handler) preempt(r *http.Request) (any, error) {
	pod, offered, err := decodePreemption(r)
	if err != nil {
		return nil, err
	}
	chosen, err := h.scheduler.Preempt(pod, offered)
	if err != nil {
		return nil, retryError{err}
	}
	result := extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	for _, c := range chosen {
		victims := &extenderv1.MetaVictims{NumPDBViolations: c.Violations, Pods: make([]*extenderv1.MetaPod, len(c.Victims))}
		for i, pod := range c.Victims {
			victims.Pods[i] = &extenderv1.MetaPod{UID: string(pod)}
		}
		result.NodeNameToMetaVictims[c.Node] = victims
	}
	return result, nil
}

// decodePreemption decodes the body of preempt. It names the victims by UID (nodeCacheCapable: true) or contains them; the
// result names them in both cases.
func decodePreemption(r *http.Request) (*corev1.Pod, []scheduler.Candidate, error) {
	var args extenderv1.ExtenderPreemptionArgs
	if err := decode(r.Body, &args); err != nil {
		return nil, nil, err
	}
	switch {
	case args.Pod == nil:
		return nil, nil, errors.New("ExtenderPreemptionArgs without a pod")
	case args.NodeNameToMetaVictims == nil && args.NodeNameToVictims == nil:
		return nil, nil, errors.New("ExtenderPreemptionArgs with neither NodeNameToMetaVictims nor NodeNameToVictims")
	}
	var offered []scheduler.Candidate
	for node, victims := range args.NodeNameToMetaVictims {
		if victims == nil {
			continue
		}
		c := scheduler.Candidate{Node: node, Violations: victims.NumPDBViolations}
		for _, pod := range victims.Pods {
			if pod != nil {
				c.Victims = append(c.Victims, growth.PodUID(pod.UID))
			}
		}
		offered = append(offered, c)
	}
	for node, victims := range args.NodeNameToVictims {
		if victims == nil {
			continue
		}
		c := scheduler.Candidate{Node: node, Violations: victims.NumPDBViolations}
		for _, pod := range victims.Pods {
			if pod != nil {
				c.Victims = append(c.Victims, growth.PodUID(pod.UID))
			}
		}
		offered = append(offered, c)
	}
	slices.SortFunc(offered, func(a, b scheduler.Candidate) int { return cmp.Compare(a.Node, b.Node) })
	return args.Pod, offered, nil
}
