package apiserver

import (
	"context"
	"fmt"
	"time"
)

// ObjectRef names an object of the core API group that an event is about.
type ObjectRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}

// Node is about a node. Its events carry its name for a UID, as kubelet's own do: `kubectl describe node` finds
// them by that.
func Node(name string) ObjectRef { return ObjectRef{Kind: "Node", Name: name, UID: name} }

// Warning tells the people who look at an object what happened to it. reason is one word in CamelCase, message a
// sentence.
func (c *Client) Warning(ctx context.Context, about ObjectRef, reason, message string) error {
	return c.event(ctx, about, "Warning", reason, message)
}

// Normal is a Warning of what is no trouble.
func (c *Client) Normal(ctx context.Context, about ObjectRef, reason, message string) error {
	return c.event(ctx, about, "Normal", reason, message)
}

func (c *Client) event(ctx context.Context, about ObjectRef, kind, reason, message string) error {
	namespace := about.Namespace
	if namespace == "" {
		namespace = "default" // where the events of objects without a namespace lie
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
