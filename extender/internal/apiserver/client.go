package apiserver

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Config is how to connect to the API server.
type Config struct {
	// Kubeconfig is a file. Empty stands for the service account of the pod.
	Kubeconfig string
	// QPS and Burst limit the rate of calls. client-go's defaults, 5 and 10, would be the bottleneck of every bind.
	QPS   float32
	Burst int
}

// Connect returns a client. It does not wait for the API server. waited is called with the time that each call waited under
// QPS and Burst.
func Connect(c Config, waited func(time.Duration)) (kubernetes.Interface, error) {
	config, err := load(c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.RateLimiter = observedLimiter{flowcontrol.NewTokenBucketRateLimiter(c.QPS, c.Burst), waited}
	config.UserAgent = "trellis-extender"
	// Protocol buffers: tens of thousands of pods are listed at the start.
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a Kubernetes client: %w", err)
	}
	return client, nil
}

// observedLimiter is a rate limiter that reports how long its callers wait.
type observedLimiter struct {
	flowcontrol.RateLimiter
	waited func(time.Duration)
}

// Wait implements flowcontrol.RateLimiter.
func (l observedLimiter) Wait(ctx context.Context) error {
	start := time.Now()
	err := l.RateLimiter.Wait(ctx)
	l.waited(time.Since(start))
	return err
}

func load(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("outside a cluster --kubeconfig is needed: %w", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %s: %w", kubeconfig, err)
	}
	return config, nil
}

// Informers returns informers that never resync and keep only the used fields of nodes. Package cache watches pods without
// an informer.
func Informers(client kubernetes.Interface) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim))
}

func slim(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	kept := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion}}
	if value, labelled := node.Labels[gpushare.NodeLabel]; labelled {
		kept.Labels = map[string]string{gpushare.NodeLabel: value}
	}
	return kept, nil
}

// API makes the API calls of Bind.
type API struct{ Client kubernetes.Interface }

// Pod reads a pod from the API server.
func (a API) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return a.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Bind posts a Binding.
func (a API) Bind(ctx context.Context, binding *corev1.Binding) error {
	return a.Client.CoreV1().Pods(binding.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
}
