package cluster

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Connection is a client of a cluster.
type Connection struct {
	Kubernetes kubernetes.Interface
	// Proxy fetches a path from a service in the cluster. The caller closes the result.
	Proxy func(ctx context.Context, namespace, service, port, path string) (io.ReadCloser, error)
}

// Connect reads a kubeconfig, or several as KUBECONFIG lists them, or the user's own if kubeconfig is empty. It does not contact
// the cluster.
func Connect(kubeconfig string) (*Connection, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	if kubeconfig == "" {
		rules.Precedence = []string{clientcmd.RecommendedHomeFile}
	}
	if paths := filepath.SplitList(kubeconfig); len(paths) > 1 {
		rules = &clientcmd.ClientConfigLoadingRules{Precedence: paths}
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	config.UserAgent = "trellis-bench"
	config.QPS, config.Burst = 100, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	return &Connection{
		Kubernetes: client,
		Proxy: func(ctx context.Context, namespace, service, port, path string) (io.ReadCloser, error) {
			return client.CoreV1().Services(namespace).ProxyGet("", service, port, path, nil).Stream(ctx)
		},
	}, nil
}
