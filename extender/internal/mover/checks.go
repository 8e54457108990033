package mover

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
)

// checks asks the API server what the snapshot does not have: whether a pod may run on a node apart from GPU memory, and
// whether its checkpoint can be read there. Answers are kept for one decision.
type checks struct {
	client kubernetes.Interface
	pods   map[growth.PodRef]*corev1.Pod
	nodes  map[growth.NodeName]occupied
	claims map[types.NamespacedName]boundClaim
	err    error // the first one
}

// occupied is a node and what the pods on it request.
type occupied struct {
	node   *corev1.Node
	pods   int
	cpu    growth.MilliCPU
	memory growth.MiB
}

// allowed reports whether a pod may run on a node. It does not after an error.
func (c *checks) allowed(ctx context.Context, ref growth.PodRef, on growth.NodeName) bool {
	pod, err := c.pod(ctx, ref)
	if err == nil {
		var n occupied
		if n, err = c.node(ctx, on); err == nil {
			return unschedulable(pod, n) == ""
		}
	}
	if c.err == nil {
		c.err = err
	}
	return false
}

func (c *checks) pod(ctx context.Context, ref growth.PodRef) (*corev1.Pod, error) {
	if pod, known := c.pods[ref]; known {
		return pod, nil
	}
	pod, err := c.client.CoreV1().Pods(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if c.pods == nil {
		c.pods = map[growth.PodRef]*corev1.Pod{}
	}
	c.pods[ref] = pod
	return pod, nil
}

func (c *checks) node(ctx context.Context, name growth.NodeName) (occupied, error) {
	if n, known := c.nodes[name]; known {
		return n, nil
	}
	node, err := c.client.CoreV1().Nodes().Get(ctx, string(name), metav1.GetOptions{})
	if err != nil {
		return occupied{}, err
	}
	list, err := c.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + string(name)})
	if err != nil {
		return occupied{}, err
	}
	n := occupied{node: node}
	for i := range list.Items {
		if p := &list.Items[i]; p.Spec.NodeName == string(name) && !ended(p) {
			cpu, memory := request.Lasting(p)
			n.pods, n.cpu, n.memory = n.pods+1, n.cpu+cpu, n.memory+memory
		}
	}
	if c.nodes == nil {
		c.nodes = map[growth.NodeName]occupied{}
	}
	c.nodes[name] = n
	return n, nil
}
