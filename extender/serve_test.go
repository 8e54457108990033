package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/kube"
	"github.com/trellis-gpu/trellis/extender/internal/settings"
	"github.com/trellis-gpu/trellis/extender/internal/stock"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/etcdbus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	nodes, gpusPerNode = 5, 2
	gpuMemory          = 10 * growth.GiB
	slots              = nodes * gpusPerNode * int(gpuMemory/growth.GiB)
)

// TestBesideTheStockScheduler fills every slot of a small cluster through a stock kube-scheduler, and then asks for one
// more. There is no kubelet: reservations are all that holds the memory.
func TestBesideTheStockScheduler(t *testing.T) {
	if !stock.Given() {
		t.Skip("needs TRELLIS_STOCK_DIR, a folder with etcd, kube-apiserver and kube-scheduler")
	}
	plane := stock.Start(t)
	state := etcdbus.Config{Endpoints: []string{plane.Etcd}} // Trellis's keys lie beside the API server's in this test alone
	b, err := etcdbus.Open(state)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	for i := range nodes {
		publish(t, plane, b, fmt.Sprintf("node-%d", i))
	}
	s := settings.Settings{
		Listen: free(t), HealthListen: free(t), Policy: "growth", Resource: gpushare.Resource, LogLevel: "info",
		Kube: kube.Config{Kubeconfig: plane.Kubeconfig, QPS: 200, Burst: 400}, Etcd: state,
	}
	require.NoError(t, s.Validate())
	ended := make(chan error, 1)
	go func() { ended <- serve(s, slog.New(slog.NewTextHandler(t.Output(), nil))) }()
	health := "http://" + s.HealthListen
	require.Eventually(t, func() bool { code, _ := get(health + "/readyz"); return code == http.StatusOK }, time.Minute, 50*time.Millisecond)
	plane.Scheduler(t, fmt.Sprintf(extender, s.Listen))

	create(t, plane, "nonsense", "a lot", 1)
	told(t, plane, "nonsense", `"a lot" is not an amount of GPU memory`)
	create(t, plane, "too-large", "12Gi", 12)
	told(t, plane, "too-large", "GPU memory: 12GiB asked, the largest GPU has 10GiB")
	for i := range slots {
		create(t, plane, fmt.Sprintf("job-%d", i), "1Gi", 1)
	}
	require.Eventually(t, func() bool { return len(bound(t, plane)) == slots }, 2*time.Minute, 100*time.Millisecond, "every slot is taken")
	perGPU := map[string]int{}
	for _, pod := range bound(t, plane) {
		perGPU[pod.Annotations[gpushare.GPUAnnotation]]++
	}
	require.Len(t, perGPU, nodes*gpusPerNode)
	for gpu, pods := range perGPU {
		require.Equal(t, int(gpuMemory/growth.GiB), pods, gpu)
	}

	create(t, plane, "one-too-many", "1Gi", 1)
	told(t, plane, "one-too-many", "Insufficient gpushare/gpu-mem")
	_, metrics := get(health + "/metrics")
	require.Contains(t, metrics, fmt.Sprintf(`trellis_extender_binds_total{result="bound"} %d`, slots))
	require.Contains(t, metrics, "trellis_extender_overcommitted_bytes 0\n")

	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	require.NoError(t, <-ended)
}

// extender takes the extender's address: what deploy/ configures a scheduler with.
const extender = `
- urlPrefix: http://%s
  filterVerb: filter
  prioritizeVerb: prioritize
  bindVerb: bind
  weight: 5
  nodeCacheCapable: true
  ignorable: false
  httpTimeout: 15s
  managedResources: [{name: gpushare/gpu-mem, ignoredByScheduler: false}]
`

// publish makes a node and its inventory, as a device plugin would.
func publish(t *testing.T, plane *stock.Plane, b bus.Bus, name string) {
	t.Helper()
	plane.Node(t, name, int64(gpusPerNode*gpuMemory/growth.GiB))
	inventory := bus.NodeGPUs{Unit: growth.GiB, Resource: gpushare.Resource, Emulated: true}
	for i := range gpusPerNode {
		inventory.GPUs = append(inventory.GPUs, bus.GPU{UUID: growth.GPU(fmt.Sprintf("%s-gpu-%d", name, i)), Memory: gpuMemory, Healthy: true})
	}
	value, err := bus.Encode(inventory)
	require.NoError(t, err)
	_, err = b.Put(t.Context(), bus.GPUsKey(growth.NodeName(name)), value, bus.WhileAlive)
	require.NoError(t, err)
}

func create(t *testing.T, plane *stock.Plane, name, memory string, units int64) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{gpushare.MemoryAnnotation: memory}},
		Spec: corev1.PodSpec{SchedulerName: "trellis", Containers: []corev1.Container{{
			Name: "train", Image: "trainer", Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{gpushare.Resource: *resource.NewQuantity(units, resource.DecimalSI)},
			},
		}}},
	}
	_, err := plane.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
}

func bound(t *testing.T, plane *stock.Plane) []corev1.Pod {
	t.Helper()
	list, err := plane.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName!="})
	require.NoError(t, err)
	return list.Items
}

// told waits until an event tells the user why a pod waits.
func told(t *testing.T, plane *stock.Plane, pod, sentence string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(events(t, plane, pod), sentence) }, time.Minute, 50*time.Millisecond,
		"pod %s is told: %s", pod, sentence)
}

// events are the messages that a user sees of a pod.
func events(t *testing.T, plane *stock.Plane, pod string) string {
	t.Helper()
	list, err := plane.Client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
	require.NoError(t, err)
	said := ""
	for _, event := range list.Items {
		said += event.Message + "\n"
	}
	return said
}

func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func get(address string) (int, string) {
	if _, err := url.Parse(address); err != nil {
		return 0, ""
	}
	request, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, address, http.NoBody)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}
