package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
)

// Bus connects to the installation's bus with the tuner's certificate, which it writes into folder. This works where the addresses of
// pods are reachable, as those of a local cluster are on its machine.
func (c *Connection) Bus(ctx context.Context, folder string) (*etcdbus.Bus, error) {
	config := etcdbus.Config{
		ServerName: "trellis-etcd", CAFile: filepath.Join(folder, "ca.crt"),
		CertFile: filepath.Join(folder, corev1.TLSCertKey), KeyFile: filepath.Join(folder, corev1.TLSPrivateKeyKey),
	}
	for _, name := range []string{"trellis-bus-ca", "trellis-bus-" + Tuner} {
		secret, err := c.Kubernetes.CoreV1().Secrets(Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("the bus's certificates: %w", err)
		}
		for file, content := range secret.Data {
			if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), content, 0o600); err != nil {
				return nil, err
			}
		}
	}
	pods, err := c.Kubernetes.CoreV1().Pods(Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=trellis-etcd"})
	if err != nil || len(pods.Items) == 0 {
		return nil, errors.Join(errors.New("the bus's pod is not there"), err)
	}
	config.Endpoints = []string{"https://" + pods.Items[0].Status.PodIP + ":2379"}
	return etcdbus.Open(config)
}
