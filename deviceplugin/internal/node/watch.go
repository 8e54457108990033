package node

import (
	"context"
	"log/slog"
	"net/url"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/growth"
)

// object is the part of a Node that is decoded.
type object struct {
	Metadata struct{ Annotations map[string]string }
}

// Watch follows this node's annotations.
type Watch struct {
	Client *apiserver.Client
	Node   growth.NodeName
	Log    *slog.Logger
}

// Run calls handle with the annotations after every change of the node, until ctx ends or handle returns an error,
// which Run returns. A deleted node has no annotations.
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
		w.Log.Warn("watching this node was interrupted, its last annotations stay", "err", err)
	})
	return handleErr
}
