package node

import (
	"context"
	"log/slog"
	"net/url"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/growth"
)

// object is what is read of a Node.
type object struct {
	Metadata struct{ Annotations map[string]string }
}

// Watch follows this node's annotations.
type Watch struct {
	Client *apiserver.Client
	Node   growth.NodeName
	Log    *slog.Logger
}

// Run tells the annotations whenever the node has changed, until ctx ends, or until tell objects: that is its error. A node
// that is gone has none.
func (w Watch) Run(ctx context.Context, handle func(annotations map[string]string) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var handleErr error
	self := url.Values{"fieldSelector": {"metadata.name=" + string(w.Node)}}
	apiserver.ListAndWatch(ctx, w.Client, "/api/v1/nodes", self, func(change apiserver.Change[object]) {
		o := change.Object
		if change.IsList && len(change.Items) > 0 {
			o = change.Items[0]
		}
		if handleErr == nil {
			handleErr = handle(o.Metadata.Annotations)
		}
		if handleErr != nil {
			cancel()
		}
	}, func(err error) {
		w.Log.Warn("watching this node was interrupted, what it said last stays", "err", err)
	})
	return handleErr
}
