package cluster

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AwaitAccount waits for the default service account of a new namespace, which admission of pods requires.
func (c *Connection) AwaitAccount(ctx context.Context, namespace string, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not made within %s: is a controller-manager running?", patience))
	defer cancel()
	for {
		_, err := c.Kubernetes.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("service account of namespace %s: %w", namespace, context.Cause(ctx))
		case <-time.After(250 * time.Millisecond):
		}
	}
}
