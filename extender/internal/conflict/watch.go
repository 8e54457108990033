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
	// selector finds the pods of gpushare's extender.
	selector = "component=gpushare-schd-extender"
	// every is how often they are looked for, within how long one look may take.
	every  = time.Minute
	within = 5 * time.Second
)

// ErrFound ends the extender.
var ErrFound = errors.New("another extender serves this resource")

// Watch looks for a rival.
type Watch struct {
	Client   kubernetes.Interface
	Resource corev1.ResourceName
	Log      *slog.Logger
}

// Once returns ErrFound, with what was found and what to do, if there is a rival. An API server that does not answer has none.
func (w Watch) Once(ctx context.Context) error {
	if w.Resource != aliyun.Resource {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	pods, err := w.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		w.Log.Warn("whether gpushare's own extender runs is not known", "reason", err)
		return nil
	}
	return among(pods.Items)
}

// Run looks again and again, until ctx ends or there is a rival.
func (w Watch) Run(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := w.Once(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// among finds a rival that runs: one that waits or has ended binds nothing.
func among(pods []corev1.Pod) error {
	for i := range pods {
		if pod := &pods[i]; pod.Status.Phase == corev1.PodRunning {
			return fmt.Errorf("%w: gpushare's, pod %s/%s (%s): scale its Deployment to 0 and take it out of kube-scheduler's configuration, then start this one; "+
				"pods that it has placed go on and are counted", ErrFound, pod.Namespace, pod.Name, selector)
		}
	}
	return nil
}
