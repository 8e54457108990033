package apiserver

import (
	"context"
	"fmt"
	"time"
)

// ObjectRef identifies an object of the core API group that an event is about.
type ObjectRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}

// Node returns the reference of a node. Like kubelet, it uses the name as UID, by which `kubectl describe node` finds
// events.
func Node(name string) ObjectRef { return ObjectRef{Kind: "Node", Name: name, UID: name} }

// Warning records an event of type Warning. reason is one CamelCase word, message a sentence.
func (c *Client) Warning(ctx context.Context, about ObjectRef, reason, message string) error {
	return c.event(ctx, about, "Warning", reason, message)
}

// Normal records an event of type Normal.
func (c *Client) Normal(ctx context.Context, about ObjectRef, reason, message string) error {
	return c.event(ctx, about, "Normal", reason, message)
}

func (c *Client) event(ctx context.Context, about ObjectRef, kind, reason, message string) error {
	namespace := about.Namespace
	if namespace == "" {
		namespace = "default" // the namespace for events of cluster-scoped objects
	}
	now := time.Now().UTC().Format(time.RFC3339)
	return c.Create(ctx, "/api/v1/namespaces/"+namespace+"/events", map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       map[string]any{"generateName": fmt.Sprintf("%.200s.", about.Name), "namespace": namespace},
		"involvedObject": about, "type": kind, "reason": reason, "message": message,
		"source":         map[string]any{"component": userAgent},
		"firstTimestamp": now, "lastTimestamp": now, "count": 1,
	})
}
