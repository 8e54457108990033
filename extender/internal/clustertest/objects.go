package clustertest

import (
	"errors"
	"maps"
	"strconv"
	"sync"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// NodeWithLabels creates a node without a device plugin.
func (c *Cluster) NodeWithLabels(name string, labels map[string]string) {
	c.T.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	_, err := c.Client.CoreV1().Nodes().Create(c.T.Context(), node, metav1.CreateOptions{})
	require.NoError(c.T, err)
}

// Pod returns a pod as admission leaves it: an annotation for the memory, and a limit of units for each container.
func Pod(name, memory string, units ...int) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "100",
			Annotations: map[string]string{gpushare.MemoryAnnotation: memory},
		},
	}
	for i, n := range units {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name:      "c" + strconv.Itoa(i),
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{gpushare.Resource: resource.MustParse(strconv.Itoa(n))}},
		})
	}
	return pod
}

// PodWithLimit returns a pod that requests units by the limit of its only container.
func PodWithLimit(name string, resourceName corev1.ResourceName, units int) *corev1.Pod {
	pod := Pod(name, "")
	pod.Annotations = nil
	pod.Spec.Containers = []corev1.Container{{
		Name: "c0", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{resourceName: resource.MustParse(strconv.Itoa(units))}},
	}}
	return pod
}

// Create creates a pod.
func (c *Cluster) Create(pod *corev1.Pod) *corev1.Pod {
	c.T.Helper()
	created, err := c.Client.CoreV1().Pods(pod.Namespace).Create(c.T.Context(), pod, metav1.CreateOptions{})
	require.NoError(c.T, err)
	return created
}

// Update replaces a pod, as another client would: its resource version changes.
func (c *Cluster) Update(pod *corev1.Pod) {
	c.T.Helper()
	pod = pod.DeepCopy()
	pod.ResourceVersion = next(pod.ResourceVersion)
	_, err := c.Client.CoreV1().Pods(pod.Namespace).Update(c.T.Context(), pod, metav1.UpdateOptions{})
	require.NoError(c.T, err)
}

// Get reads a pod.
func (c *Cluster) Get(pod *corev1.Pod) *corev1.Pod {
	c.T.Helper()
	current, err := c.Client.CoreV1().Pods(pod.Namespace).Get(c.T.Context(), pod.Name, metav1.GetOptions{})
	require.NoError(c.T, err)
	return current
}

// Delete deletes a pod.
func (c *Cluster) Delete(pod *corev1.Pod) {
	c.T.Helper()
	require.NoError(c.T, c.Client.CoreV1().Pods(pod.Namespace).Delete(c.T.Context(), pod.Name, metav1.DeleteOptions{}))
}

// Bindings records posted Bindings.
type Bindings struct {
	mu     sync.Mutex
	posted []*corev1.Binding
	fail   error
}

// Posted returns them.
func (b *Bindings) Posted() []*corev1.Binding {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.posted
}

// Fail makes the API server answer every Binding with err, until Fail(nil).
func (b *Bindings) Fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = err
}

// acceptBindings makes the fake client treat a Binding as the API server does.
func acceptBindings(client *fake.Clientset) *Bindings {
	bindings := &Bindings{}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		bindings.mu.Lock()
		defer bindings.mu.Unlock()
		binding := action.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
		bindings.posted = append(bindings.posted, binding)
		if bindings.fail != nil {
			return true, nil, bindings.fail
		}
		object, err := client.Tracker().Get(pods, binding.Namespace, binding.Name)
		if err != nil {
			return true, nil, err
		}
		pod := object.(*corev1.Pod).DeepCopy()
		if err := precondition(pod, binding); err != nil {
			return true, nil, apierrors.NewConflict(pods.GroupResource(), pod.Name, err)
		}
		pod.Spec.NodeName, pod.ResourceVersion = binding.Target.Name, next(pod.ResourceVersion)
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		maps.Copy(pod.Annotations, binding.Annotations)
		return true, binding, client.Tracker().Update(pods, pod, pod.Namespace)
	})
	return bindings
}

func precondition(pod *corev1.Pod, binding *corev1.Binding) error {
	switch {
	case binding.UID != "" && binding.UID != pod.UID:
		return errors.New("the UID in the precondition does not match")
	case binding.ResourceVersion != "" && binding.ResourceVersion != pod.ResourceVersion:
		return errors.New("the resourceVersion in the precondition does not match")
	case pod.Spec.NodeName != "":
		return errors.New("the pod is already assigned to a node")
	}
	return nil
}

func next(version string) string {
	n, _ := strconv.Atoi(version)
	return strconv.Itoa(n + 1)
}
