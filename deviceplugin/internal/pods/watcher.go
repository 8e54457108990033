package pods

import (
	"context"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"sync"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/growth"
)

// Watcher watches one node's pods. It implements the Pods interface of package allocations.
type Watcher struct {
	client   *apiserver.Client
	node     growth.NodeName
	resource string
	log      *slog.Logger

	mu      sync.Mutex
	pods    map[growth.PodUID]Pod
	list    []Pod // the values of pods; nil until requested
	synced  bool
	changed chan struct{}
}

// New returns a Watcher; Run starts it.
func New(client *apiserver.Client, node growth.NodeName, resource string, log *slog.Logger) *Watcher {
	return &Watcher{
		client:   client,
		node:     node,
		resource: resource,
		log:      log,
		pods:     map[growth.PodUID]Pod{},
		changed:  make(chan struct{}),
	}
}

// Run watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	bound := url.Values{"fieldSelector": {"spec.nodeName=" + string(w.node)}}
	apiserver.ListAndWatch(ctx, w.client, "/api/v1/pods", bound, w.apply, func(err error) {
		w.log.Warn("watching pods was interrupted, the last list stays", "err", err)
	})
	return nil
}

func (w *Watcher) apply(c apiserver.Change[pod]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid := growth.PodUID(c.Object.Metadata.UID)
	switch {
	case c.IsList:
		w.synced = true
		clear(w.pods)
		for _, p := range c.Items {
			w.pods[growth.PodUID(p.Metadata.UID)] = convert(p, w.resource)
		}
	case c.Deleted:
		delete(w.pods, uid)
	default:
		w.pods[uid] = convert(c.Object, w.resource)
	}
	w.list = nil
	close(w.changed)
	w.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next change.
func (w *Watcher) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// Pods returns the pods, and whether they have been listed. All callers share one slice and must not modify it.
func (w *Watcher) Pods() ([]Pod, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list == nil {
		w.list = slices.AppendSeq(make([]Pod, 0, len(w.pods)), maps.Values(w.pods))
	}
	return w.list, w.synced
}
