package fastpath

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/trellis-gpu/trellis/growth/placement"
)

// This file has the plain form of each part. The tests compare the parts with it.

// referenceMap is Index and Map: Go's own map, cloned for each change.
type referenceMap[V any] map[string]V

func (m referenceMap[V]) with(changed []string, current func(string) (V, bool)) referenceMap[V] {
	next := maps.Clone(m)
	if next == nil {
		next = referenceMap[V]{}
	}
	for _, key := range changed {
		value, present := current(key)
		if !present {
			delete(next, key)
			continue
		}
		next[key] = value
	}
	return next
}

// referenceVerdicts is VerdictCache without bounds.
type referenceVerdicts map[referenceKey]Verdict

type referenceKey struct {
	question Question
	slot     Slot
}

// referenceSelection is Selection.
type referenceSelection struct {
	names  []string
	values []*int
}

// pod is as much of a pod as the tests of bodies need.
type pod struct {
	Metadata struct{ Name string } `json:"metadata"`
}

// referenceArgs is ArgsCache.Decode. It also accepts bodies in other forms.
func referenceArgs(body string) (Args[pod], error) {
	var args struct {
		Pod       *pod
		NodeNames *[]string
		Nodes     any
	}
	decoder := json.NewDecoder(strings.NewReader(body))
	if err := decoder.Decode(&args); err != nil {
		return Args[pod]{}, err
	}
	if decoder.More() || args.Pod == nil || args.NodeNames == nil {
		return Args[pod]{}, errors.New("not one value with a pod and names")
	}
	return Args[pod]{args.Pod, *args.NodeNames}, nil
}

// referencePlain is plain, one character after another.
func referencePlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' })
}

// referenceFilterResult is AppendFilterResult.
func referenceFilterResult(nodes []string, statuses []*placement.Status) extenderv1.ExtenderFilterResult {
	fit := []string{}
	result := extenderv1.ExtenderFilterResult{
		NodeNames:                  &fit,
		FailedNodes:                extenderv1.FailedNodesMap{},
		FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{},
	}
	for i, status := range statuses {
		switch {
		case status == nil:
			fit = append(fit, nodes[i])
		case status.Unresolvable:
			result.FailedAndUnresolvableNodes[nodes[i]] = status.Reason
		default:
			result.FailedNodes[nodes[i]] = status.Reason
		}
	}
	return result
}

// referenceHostPriorities is AppendHostPriorities.
func referenceHostPriorities(nodes []string, points []int8) extenderv1.HostPriorityList {
	list := extenderv1.HostPriorityList{}
	for i, node := range nodes {
		if points[i] != 0 {
			list = append(list, extenderv1.HostPriority{Host: node, Score: int64(points[i])})
		}
	}
	return list
}
