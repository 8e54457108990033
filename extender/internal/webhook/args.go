package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
)

// nodeArgs are the decoded arguments of filter and prioritize.
type nodeArgs struct {
	pod   *corev1.Pod
	names []string
	// whole are the nodes themselves, if the request has them, as text: the scheduler gets them back, and another version's
	// nodes may have fields that are unknown here.
	whole []json.RawMessage
}

// wholeArgs is extenderv1.ExtenderArgs with the nodes as text.
type wholeArgs struct {
	Pod       *corev1.Pod
	NodeNames *[]string
	Nodes     *wholeNodes
}

// wholeResult is extenderv1.ExtenderFilterResult with the nodes as text.
type wholeResult struct {
	Nodes                      *wholeNodes
	FailedNodes                extenderv1.FailedNodesMap
	FailedAndUnresolvableNodes extenderv1.FailedNodesMap
	Error                      string
}

type wholeNodes struct {
	Items []json.RawMessage `json:"items"`
}

// decodeNodeArgs decodes the body of filter or prioritize, in both forms.
func decodeNodeArgs(body io.Reader) (nodeArgs, error) {
	var args wholeArgs
	if err := decode(body, &args); err != nil {
		return nodeArgs{}, err
	}
	switch {
	case args.Pod == nil:
		return nodeArgs{}, errors.New("ExtenderArgs without a pod")
	case args.NodeNames != nil:
		return nodeArgs{pod: args.Pod, names: *args.NodeNames}, nil
	case args.Nodes == nil:
		return nodeArgs{}, errors.New("ExtenderArgs with neither NodeNames nor Nodes")
	}
	c := nodeArgs{pod: args.Pod, whole: args.Nodes.Items, names: make([]string, len(args.Nodes.Items))}
	if c.whole == nil {
		c.whole = []json.RawMessage{}
	}
	for i, text := range c.whole {
		var node struct{ Metadata struct{ Name string } }
		if err := json.Unmarshal(text, &node); err != nil {
			return nodeArgs{}, fmt.Errorf("reading node %d: %w", i, err)
		}
		c.names[i] = node.Metadata.Name
	}
	return c, nil
}

// decodeBinding decodes the body of bind.
func decodeBinding(body io.Reader) (growth.PodRef, growth.NodeName, error) {
	var args extenderv1.ExtenderBindingArgs
	if err := decode(body, &args); err != nil {
		return growth.PodRef{}, "", err
	}
	for _, field := range []struct{ name, value string }{
		{"PodName", args.PodName},
		{"PodNamespace", args.PodNamespace},
		{"PodUID", string(args.PodUID)},
		{"Node", args.Node},
	} {
		if field.value == "" {
			return growth.PodRef{}, "", fmt.Errorf("ExtenderBindingArgs without %s", field.name)
		}
	}
	ref := growth.PodRef{Namespace: args.PodNamespace, Name: args.PodName, UID: growth.PodUID(args.PodUID)}
	return ref, growth.NodeName(args.Node), nil
}

// decode decodes a body of exactly one JSON value.
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

// wholeResult returns the result with whole nodes, or the error.
func (a nodeArgs) wholeResult(result scheduler.FilterResult, err error) wholeResult {
	if err != nil {
		return wholeResult{Error: err.Error()}
	}
	fit := &wholeNodes{Items: make([]json.RawMessage, 0, len(result.Nodes))}
	for i, status := range result.Statuses {
		if status == nil {
			fit.Items = append(fit.Items, a.whole[i])
		}
	}
	return wholeResult{Nodes: fit, FailedNodes: result.Failed(false), FailedAndUnresolvableNodes: result.Failed(true)}
}
