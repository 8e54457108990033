package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/trellis-gpu/trellis/extender/internal/decide"
	"github.com/trellis-gpu/trellis/growth"
)

// candidates are the nodes that a request is about.
type candidates struct {
	pod   *corev1.Pod
	names []string
	// whole holds the nodes themselves, where they were sent.
	whole *corev1.NodeList
}

// decodeArgs reads the body of filter and prioritize.
func decodeArgs(body io.Reader) (candidates, error) {
	var args extenderv1.ExtenderArgs
	if err := decode(body, &args); err != nil {
		return candidates{}, err
	}
	switch {
	case args.Pod == nil:
		return candidates{}, errors.New("ExtenderArgs without a pod")
	case args.NodeNames != nil:
		return candidates{pod: args.Pod, names: *args.NodeNames}, nil
	case args.Nodes == nil:
		return candidates{}, errors.New("ExtenderArgs with neither NodeNames nor Nodes")
	}
	c := candidates{pod: args.Pod, whole: args.Nodes, names: make([]string, len(args.Nodes.Items))}
	for i := range args.Nodes.Items {
		c.names[i] = args.Nodes.Items[i].Name
	}
	return c, nil
}

// decodeBinding reads the body of bind.
func decodeBinding(body io.Reader) (growth.PodRef, growth.NodeName, error) {
	var args extenderv1.ExtenderBindingArgs
	if err := decode(body, &args); err != nil {
		return growth.PodRef{}, "", err
	}
	for _, field := range []struct{ name, value string }{
		{"PodName", args.PodName}, {"PodNamespace", args.PodNamespace}, {"PodUID", string(args.PodUID)}, {"Node", args.Node},
	} {
		if field.value == "" {
			return growth.PodRef{}, "", fmt.Errorf("ExtenderBindingArgs without %s", field.name)
		}
	}
	ref := growth.PodRef{Namespace: args.PodNamespace, Name: args.PodName, UID: growth.PodUID(args.PodUID)}
	return ref, growth.NodeName(args.Node), nil
}

// decode reads exactly one JSON value.
func decode(body io.Reader, into any) error {
	decoder := json.NewDecoder(body)
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("reading the body: there is something after its end")
	}
	return nil
}

// filterResult answers with whole nodes, as it was asked, or with an error.
func (c candidates) filterResult(found decide.Filtered, err error) extenderv1.ExtenderFilterResult {
	if err != nil {
		return extenderv1.ExtenderFilterResult{Error: err.Error()}
	}
	result := extenderv1.ExtenderFilterResult{FailedNodes: reasons(found.Crowded), FailedAndUnresolvableNodes: reasons(found.Hopeless)}
	result.Nodes = &corev1.NodeList{Items: make([]corev1.Node, 0, len(found.Fit))}
	left := found.Fit // in the order of the question
	for _, node := range c.whole.Items {
		if len(left) > 0 && left[0] == node.Name {
			result.Nodes.Items, left = append(result.Nodes.Items, node), left[1:]
		}
	}
	return result
}

func reasons(refused []decide.Refused) extenderv1.FailedNodesMap {
	reasons := make(extenderv1.FailedNodesMap, len(refused))
	for _, r := range refused {
		reasons[r.Node] = r.Reason
	}
	return reasons
}
