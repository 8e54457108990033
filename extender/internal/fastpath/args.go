package fastpath

import (
	"encoding/json"
	"slices"
	"sync/atomic"
)

// ArgsCache decodes ExtenderArgs that name the nodes, and caches the pod and the node lists of recent bodies. kube-scheduler
// sends the same lists repeatedly (all nodes for filter, those with room for prioritize), and each pod twice. P is the type of
// a pod. The zero value is ready to use. An ArgsCache is safe for concurrent use.
type ArgsCache[P any] struct {
	recent atomic.Pointer[recentArgs[P]]
}

// Args are decoded ExtenderArgs. They share memory with the cache and must not be changed.
type Args[P any] struct {
	Pod       *P
	NodeNames []string
}

type recentArgs[P any] struct {
	podText string
	pod     *P
	lists   []*nameList // most recent first
}

// Decode decodes a body. It returns false unless the body has exactly the form that kube-scheduler sends. The caller then
// decodes the body with encoding/json, which also reports what is invalid.
func (c *ArgsCache[P]) Decode(body []byte) (Args[P], bool) {
	recent := c.recent.Load()
	if recent == nil {
		recent = &recentArgs[P]{}
	}
	found, ok := scan(body, recent.lists)
	if !ok {
		return Args[P]{}, false
	}
	samePod := recent.pod != nil && string(found.pod) == recent.podText
	if samePod && slices.Index(recent.lists, found.names) == 0 {
		return Args[P]{recent.pod, found.names.names}, true
	}
	next := &recentArgs[P]{podText: recent.podText, pod: recent.pod, lists: withRecent(recent.lists, found.names)}
	if !samePod {
		next.podText, next.pod = string(found.pod), nil
		if err := json.Unmarshal(found.pod, &next.pod); err != nil {
			return Args[P]{}, false
		}
	}
	c.recent.Store(next)
	return Args[P]{next.pod, found.names.names}, true
}
