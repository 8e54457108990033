package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/daemon/credentials/credentialstest"
	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/daemon/processtest"
	"github.com/trellis-gpu/trellis/extender/internal/apiserver"
	"github.com/trellis-gpu/trellis/extender/internal/config"
	"github.com/trellis-gpu/trellis/extender/internal/mover"
	"github.com/trellis-gpu/trellis/extender/internal/upstreamtest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	nodes, gpusPerNode = 5, 2
	gpuMemory          = 50 * growth.GiB
	slots              = nodes * gpusPerNode * int(gpuMemory/growth.GiB)
)

// TestExtender_FillsEverySlot creates 500 pods at once where exactly 500 have room, through a stock kube-scheduler over HTTPS,
// and then one more. There is no kubelet: only reservations hold the memory.
func TestExtender_FillsEverySlot(t *testing.T) {
	authority := credentialstest.New(t)
	plane, c, ended := start(t, nodes, gpushare.Resource, &authority)
	health := "http://" + c.HealthListen
	anonymous := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authority.Pool(), ServerName: "extender"},
	}}
	_, err := anonymous.Post("https://"+c.Listen+"/filter", "application/json", strings.NewReader("{}"))
	require.ErrorContains(t, err, "certificate required", "a client without a certificate")
	create(t, plane, "invalid", "a lot", 1)
	requireEvent(t, plane, "invalid", `"a lot" is not an amount of GPU memory`)
	create(t, plane, "too-large", "52Gi", 52)
	requireEvent(t, plane, "too-large", "GPU memory: 52GiB asked, the largest GPU has 50GiB")
	begun := time.Now()
	for i := range slots {
		create(t, plane, fmt.Sprintf("job-%d", i), "1Gi", 1)
	}
	require.Eventually(t, func() bool { return len(bound(t, plane)) == slots }, 2*time.Minute, 100*time.Millisecond,
		"every slot is taken, and no pod waits for the scheduler's five minutes")
	t.Logf("%d pods on %d slots, all bound after %s", slots, slots, time.Since(begun).Round(100*time.Millisecond))
	perGPU := map[string]int{}
	for _, pod := range bound(t, plane) {
		perGPU[pod.Annotations[gpushare.GPUAnnotation]]++
	}
	require.Len(t, perGPU, nodes*gpusPerNode)
	for gpu, pods := range perGPU {
		require.Equal(t, int(gpuMemory/growth.GiB), pods, gpu)
	}

	create(t, plane, "one-too-many", "1Gi", 1)
	requireEvent(t, plane, "one-too-many", "Insufficient gpushare/gpu-mem")
	_, metrics := get(health + "/metrics")
	require.Contains(t, metrics, fmt.Sprintf(`trellis_extender_binds_total{result="bound"} %d`, slots))
	require.Contains(t, metrics, "trellis_extender_overcommitted_bytes 0\n")

	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	require.NoError(t, <-ended)
}

// TestExtender_PreemptsOnOneGPU fills two GPUs with two jobs each. Evicting the two jobs of the lowest priority, as the stock
// scheduler's dry run would, frees half of each GPU. The extender names two jobs of one GPU.
func TestExtender_PreemptsOnOneGPU(t *testing.T) {
	plane, c, ended := start(t, 1, gpushare.Resource, nil)
	placed := map[string]string{}
	for i, class := range []string{"none", "none-too", "high", "low"} { // each job gets the emptier GPU
		plane.PriorityClass(t, class, map[string]int32{"high": 5, "low": 1, "urgent": 10}[class])
		submit(t, plane, "job-"+class, class, gpuMemory/2)
		require.Eventually(t, func() bool { return len(bound(t, plane)) == i+1 }, time.Minute, 50*time.Millisecond)
	}
	for _, pod := range bound(t, plane) {
		placed[pod.Name] = pod.Annotations[gpushare.GPUAnnotation]
	}
	require.Equal(t, map[string]string{
		"job-none": "node-0-gpu-0", "job-none-too": "node-0-gpu-1", "job-high": "node-0-gpu-0", "job-low": "node-0-gpu-1",
	}, placed)

	plane.PriorityClass(t, "urgent", 10)
	submit(t, plane, "urgent", "urgent", gpuMemory)
	require.Eventually(t, func() bool {
		left := map[string]string{}
		for _, pod := range bound(t, plane) {
			left[pod.Name] = pod.Annotations[gpushare.GPUAnnotation]
		}
		return maps.Equal(left, map[string]string{"job-none": "node-0-gpu-0", "job-high": "node-0-gpu-0", "urgent": "node-0-gpu-1"})
	}, time.Minute, 50*time.Millisecond, "the urgent job replaces the two jobs of one GPU with the lowest priorities together")
	require.Contains(t, events(t, plane, "job-low"), "Preempted by pod")
	requireDrain(t, c, ended)
}

// requireDrain stops the extender during a request: it becomes unready, accepts no new requests, answers this one, and exits.
func requireDrain(t *testing.T, c *config.Config, ended chan error) {
	t.Helper()
	connection, err := net.Dial("tcp", c.Listen)
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	body := `{"Pod":{"metadata":{"name":"late","uid":"u"}},"NodeNames":["node-0"]}`
	_, err = fmt.Fprintf(connection, "POST /filter HTTP/1.1\r\nHost: extender\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	require.NoError(t, err)
	answers := bufio.NewReader(connection)
	begun, err := http.ReadResponse(answers, nil) // its handler has begun to read
	require.NoError(t, err)
	require.Equal(t, http.StatusContinue, begun.StatusCode)
	require.NoError(t, begun.Body.Close())

	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	require.Eventually(t, func() bool {
		code, _ := get("http://" + c.HealthListen + "/readyz")
		return code == http.StatusServiceUnavailable
	}, 10*time.Second, 20*time.Millisecond, "readiness is still answered")
	require.Eventually(t, func() bool { code, _ := get("http://" + c.Listen + "/"); return code == 0 }, 10*time.Second, 20*time.Millisecond)
	select {
	case err := <-ended:
		require.Fail(t, "the extender has ended during a request", "%v", err)
	case <-time.After(200 * time.Millisecond):
	}
	_, err = connection.Write([]byte(body))
	require.NoError(t, err)
	answer, err := http.ReadResponse(answers, nil)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.NoError(t, <-ended)
}

// start starts a control plane, nodes that offer a resource, the extender, and a stock scheduler that calls it, over HTTPS if
// there is an authority.
func start(
	t *testing.T, nodes int, offered corev1.ResourceName, authority *credentialstest.Authority, changes ...func(*config.Config),
) (*upstreamtest.Plane, *config.Config, chan error) {
	t.Helper()
	plane, c, schedulerConfig := prepare(t, nodes, offered, authority)
	for _, change := range changes {
		change(c)
	}
	ended := make(chan error, 1)
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	t.Cleanup(stop)
	go func() { ended <- run(ctx, c, slog.New(slog.NewTextHandler(t.Output(), nil))) }()
	awaitReady(t, c)
	plane.Scheduler(t, schedulerConfig)
	return plane, c, ended
}

func awaitReady(t *testing.T, c *config.Config) {
	t.Helper()
	ready := "http://" + c.HealthListen + "/readyz"
	require.Eventually(t, func() bool { code, _ := get(ready); return code == http.StatusOK }, time.Minute, 50*time.Millisecond)
}

// prepare is start without the extender and the scheduler, whose configuration of the extender it returns.
func prepare(
	t *testing.T, nodes int, offered corev1.ResourceName, authority *credentialstest.Authority,
) (*upstreamtest.Plane, *config.Config, string) {
	t.Helper()
	plane := upstreamtest.Start(t)
	etcd := etcdbus.Config{Endpoints: []string{plane.Etcd}} // the tests use the API server's etcd as the bus
	b, err := etcdbus.Open(etcd)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	for i := range nodes {
		publish(t, plane, b, fmt.Sprintf("node-%d", i), offered)
	}
	c := &config.Config{
		Listen:       freeAddress(t),
		HealthListen: freeAddress(t),
		Policy:       "growth",
		Resource:     string(offered),
		Gangs:        true,
		Moves:        mover.Requested,
		Workers:      true,
		Kube:         apiserver.Config{Kubeconfig: plane.Kubeconfig, QPS: 200, Burst: 400},
		Etcd:         etcd,
	}
	scheme := "http"
	tlsConfig := ""
	if authority != nil {
		c.TLS = authority.Server(t.TempDir(), "extender")
		client := authority.Client(t.TempDir(), "kube-scheduler")
		scheme = "https"
		tlsConfig = fmt.Sprintf(schedulerTLS, client.Cert, client.Key, client.ClientCA)
	}
	require.NoError(t, c.Validate())
	return plane, c, fmt.Sprintf(extender, scheme, c.Listen, offered) + tlsConfig
}

// extender is a format for kube-scheduler's configuration of the extender, as in deploy/. It takes the scheme, the address
// and the resource.
const extender = `
- urlPrefix: %s://%s
  filterVerb: filter
  prioritizeVerb: prioritize
  bindVerb: bind
  preemptVerb: preempt
  weight: 5
  nodeCacheCapable: true
  ignorable: false
  httpTimeout: 15s
  managedResources: [{name: %s, ignoredByScheduler: false}]
`

// schedulerTLS is a format for the part of the extender's configuration about HTTPS: kube-scheduler's certificate and key,
// and the CA of the extender's certificate.
const schedulerTLS = `
  enableHTTPS: true
  tlsConfig: {serverName: extender, certFile: %q, keyFile: %q, caFile: %q}
`

// publish creates a node and writes its GPUs to the bus like a device plugin.
func publish(t *testing.T, plane *upstreamtest.Plane, b bus.Bus, name string, offered corev1.ResourceName) {
	t.Helper()
	plane.NodeWith(t, name, offered, int64(gpusPerNode*gpuMemory/growth.GiB))
	inventory := bus.NodeGPUs{Unit: growth.GiB, Resource: string(offered), Emulated: true}
	for i := range gpusPerNode {
		inventory.GPUs = append(inventory.GPUs, bus.GPU{
			UUID:    growth.GPU(fmt.Sprintf("%s-gpu-%d", name, i)),
			Memory:  gpuMemory,
			Healthy: true,
		})
	}
	value, err := bus.Encode(inventory)
	require.NoError(t, err)
	_, err = b.Put(t.Context(), bus.GPUsKey(growth.NodeName(name)), value, bus.Ephemeral)
	require.NoError(t, err)
}

func create(t *testing.T, plane *upstreamtest.Plane, name, memory string, units int64) {
	t.Helper()
	pod := trainer(name, units)
	pod.Annotations = map[string]string{gpushare.MemoryAnnotation: memory}
	_, err := plane.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
}

// submit creates a pod of a priority class. It has no grace period, because there is no kubelet to end it.
func submit(t *testing.T, plane *upstreamtest.Plane, name, class string, memory growth.MiB) {
	t.Helper()
	pod := trainer(name, int64(memory/growth.GiB))
	pod.Annotations = map[string]string{gpushare.MemoryAnnotation: fmt.Sprint(int64(memory/growth.GiB)) + "Gi"}
	pod.Spec.PriorityClassName = class
	pod.Spec.TerminationGracePeriodSeconds = new(int64(0))
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		_, err := plane.Client.CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
	}, 10*time.Second, 50*time.Millisecond, "admission knows the new priority class")
}

// trainer returns a pod with a limit of GPU memory. Its checkpoints are on a volume that all nodes mount.
func trainer(name string, units int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			SchedulerName: "trellis",
			Containers: []corev1.Container{{
				Name: "train", Image: "trainer", Resources: corev1.ResourceRequirements{
					Limits: corev1.ResourceList{gpushare.Resource: *resource.NewQuantity(units, resource.DecimalSI)},
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "checkpoints", MountPath: "/checkpoints"}},
			}},
			Volumes: []corev1.Volume{{Name: "checkpoints", VolumeSource: corev1.VolumeSource{
				NFS: &corev1.NFSVolumeSource{Server: "nfs.example", Path: "/checkpoints"},
			}}},
		},
	}
}

// bound returns the pods that are bound to a node.
func bound(t *testing.T, plane *upstreamtest.Plane) []corev1.Pod {
	t.Helper()
	list, err := plane.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName!="})
	require.NoError(t, err)
	return list.Items
}

// requireEvent waits for an event of a pod that contains a sentence.
func requireEvent(t *testing.T, plane *upstreamtest.Plane, pod, sentence string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(events(t, plane, pod), sentence) }, time.Minute, 50*time.Millisecond,
		"pod %s has the event: %s", pod, sentence)
}

// events returns the messages of a pod's events.
func events(t *testing.T, plane *upstreamtest.Plane, pod string) string {
	t.Helper()
	list, err := plane.Client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
	require.NoError(t, err)
	text := ""
	for _, event := range list.Items {
		text += event.Message + "\n"
	}
	return text
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := processtest.FreeAddress()
	require.NoError(t, err)
	return address
}

// get returns the status and the body of a response, 0 without one.
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
