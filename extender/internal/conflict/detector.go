package conflict

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

const (
	// selector selects the pods of Aliyun gpushare's extender.
	selector = "component=gpushare-schd-extender"
	interval = time.Minute
	timeout  = 5 * time.Second
)

// ErrFound ends the extender.
var ErrFound = errors.New("another extender serves this resource")

// Detector looks for the other extender.
type Detector struct {
	Client   kubernetes.Interface
	Resource corev1.ResourceName
	Log      *slog.Logger
}

// Check returns ErrFound, with the pod and with advice, if the other extender runs. It returns nil if the API server does not
// answer.
func (d Detector) Check(ctx context.Context) error {
	if d.Resource != aliyun.Resource {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	pods, err := d.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		d.Log.Warn("cannot check whether Aliyun gpushare's extender runs", "err", err)
		return nil
	}
	return findRunning(pods.Items)
}

// Run checks once a minute, until ctx ends or the other extender runs.
func (d Detector) Run(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := d.Check(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// findRunning returns an error for a running pod. A pod that is pending or has ended binds nothing.
func findRunning(pods []corev1.Pod) error {
	for i := range pods {
		pod := &pods[i]
		if pod.Status.Phase == corev1.PodRunning {
			return fmt.Errorf("%w: Aliyun gpushare's, pod %s/%s (%s): scale its Deployment to 0 and take it out of kube-scheduler's configuration, then start this one; "+
				"pods that it has placed keep running and are counted", ErrFound, pod.Namespace, pod.Name, selector)
		}
	}
	return nil
}
