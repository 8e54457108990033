package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/daemon/processtest"
	"github.com/trellis-gpu/trellis/extender/internal/upstreamtest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// jobs is the number of pods of TestExtender_LosesNoPodWithLostBinds. The first replica is killed at the Binding of the
// job number killAt.
const jobs, killAt = 20, 6

// lossy stands between kube-scheduler and the extender. It passes requests on to the current replica, and drops the first
// response to a bind of each pod.
type lossy struct {
	mu      sync.Mutex
	replica string // the URL of the current replica
	binds   map[string][]byte
}

func (l *lossy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	l.mu.Lock()
	target, first := l.replica, false
	if r.URL.Path == "/bind" {
		_, known := l.binds[string(body)]
		first = !known
		l.binds[string(body)] = body
	}
	l.mu.Unlock()
	response, err := http.Post(target+r.URL.Path, "application/json", bytes.NewReader(body))
	if err != nil || first {
		if err == nil {
			_ = response.Body.Close()
		}
		panic(http.ErrAbortHandler) // the scheduler sees a broken connection
	}
	defer func() { _ = response.Body.Close() }()
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body)
}

func (l *lossy) use(replica string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replica = replica
}

// lost returns the bodies of all binds.
func (l *lossy) lost() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var bodies [][]byte
	for _, body := range l.binds {
		bodies = append(bodies, body)
	}
	return bodies
}

// replica is an extender in a process of its own.
type replica struct {
	*processtest.Process
	url, health string
}

// startReplica builds and starts an extender with a kubeconfig file.
func startReplica(t *testing.T, plane *upstreamtest.Plane, kubeconfig string) replica {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "extender")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	r := replica{}
	listen, health := freeAddress(t), freeAddress(t)
	r.url, r.health = "http://"+listen, "http://"+health
	r.Process, err = processtest.Start(processtest.Program{
		Path: program, Dir: dir,
		Args: []string{
			"--listen=" + listen, "--health-listen=" + health, "--kubeconfig=" + kubeconfig, "--etcd-endpoints=" + plane.Etcd,
		},
	})
	require.NoError(t, err)
	t.Cleanup(r.Kill)
	require.NoError(t, r.AwaitURL(t.Context(), r.health+"/readyz"))
	return r
}

// afterBinding serves the API server of a kubeconfig file, and calls hook after each Binding, before its response. It
// returns the kubeconfig file of this server.
func afterBinding(t *testing.T, kubeconfig string, hook func()) string {
	t.Helper()
	content, err := os.ReadFile(kubeconfig)
	require.NoError(t, err)
	address := regexp.MustCompile(`"server": "([^"]+)"`).FindStringSubmatch(string(content))
	require.Len(t, address, 2)
	target, err := url.Parse(address[1])
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(r *http.Response) error {
		if strings.HasSuffix(r.Request.URL.Path, "/binding") && r.StatusCode == http.StatusCreated {
			hook()
		}
		return nil
	}
	server := httptest.NewTLSServer(proxy)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(content), address[1], server.URL, 1)), 0o600))
	return path
}

// TestExtender_LosesNoPodWithLostBinds loses the first response to every bind, and kills a replica after a Binding was
// written and before it could answer.
func TestExtender_LosesNoPodWithLostBinds(t *testing.T) {
	plane := upstreamtest.Start(t)
	b, err := etcdbus.Open(etcdbus.Config{Endpoints: []string{plane.Etcd}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	for _, name := range []string{"node-0", "node-1"} {
		publish(t, plane, b, name, gpushare.Resource)
	}
	second := startReplica(t, plane, plane.Kubeconfig)
	var first replica
	proxy := &lossy{binds: map[string][]byte{}}
	var bindings atomic.Int32
	first = startReplica(t, plane, afterBinding(t, plane.Kubeconfig, func() {
		if bindings.Add(1) == killAt {
			first.Kill()
			proxy.use(second.url)
		}
	}))
	proxy.use(first.url)
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	plane.Scheduler(t, fmt.Sprintf(extender, "http", strings.TrimPrefix(server.URL, "http://"), gpushare.Resource))

	for i := range jobs {
		create(t, plane, fmt.Sprintf("job-%d", i), "1Gi", 1)
	}
	require.Eventually(t, func() bool { return len(bound(t, plane)) == jobs }, 2*time.Minute, 100*time.Millisecond)
	code, _ := get(first.health + "/livez")
	require.Zero(t, code, "the first replica was killed")
	requireBindsAgain(t, plane, proxy.lost(), second)
	requireReservations(t, plane, b)
	_, metrics := get(second.health + "/metrics")
	require.Contains(t, metrics, "trellis_extender_overcommitted_bytes 0\n")
}

// requireBindsAgain binds every pod again on a replica: to its own node, and to the other one.
func requireBindsAgain(t *testing.T, plane *upstreamtest.Plane, bodies [][]byte, r replica) {
	t.Helper()
	nodeOf := map[string]string{}
	for _, pod := range bound(t, plane) {
		nodeOf[pod.Name] = pod.Spec.NodeName
	}
	for _, body := range bodies {
		var args extenderv1.ExtenderBindingArgs
		require.NoError(t, json.Unmarshal(body, &args))
		for _, node := range []string{"node-0", "node-1"} {
			args.Node = node
			result := bindOn(t, r, args)
			if node == nodeOf[args.PodName] {
				require.Empty(t, result.Error)
				continue
			}
			require.Contains(t, result.Error, "the pod is bound already, to node "+nodeOf[args.PodName])
		}
	}
}

func bindOn(t *testing.T, r replica, args extenderv1.ExtenderBindingArgs) (result extenderv1.ExtenderBindingResult) {
	t.Helper()
	body, err := json.Marshal(args)
	require.NoError(t, err)
	response, err := http.Post(r.url+"/bind", "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	require.NoError(t, json.NewDecoder(response.Body).Decode(&result))
	return result
}

// requireReservations waits for one reservation for each pod, on its node and on the GPU of its annotation. A replica that
// was killed between its reservation and its Binding leaves a reservation on another node, which the next reconciliation of
// the other replica releases.
func requireReservations(t *testing.T, plane *upstreamtest.Plane, b bus.Bus) {
	t.Helper()
	want := map[string]string{}
	for _, pod := range bound(t, plane) {
		want[pod.Spec.NodeName+"/"+pod.Name] = pod.Annotations[gpushare.GPUAnnotation]
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		got, sum := reserved(t.Context(), c, b)
		assert.Equal(c, want, got)
		assert.Equal(c, jobs*growth.GiB, sum)
	}, 10*time.Second, 100*time.Millisecond)
}

// reserved returns the GPU of each reservation by node and pod, and the sum of their memory.
func reserved(ctx context.Context, t require.TestingT, b bus.Bus) (gpus map[string]string, sum growth.MiB) {
	gpus = map[string]string{}
	for _, node := range []growth.NodeName{"node-0", "node-1"} {
		entries, _, err := b.List(ctx, bus.ReservationsPrefix(node))
		require.NoError(t, err)
		for _, entry := range entries {
			r, err := bus.Decode[bus.Reservation](entry.Value)
			require.NoError(t, err)
			require.Len(t, r.GPUs, 1)
			gpus[string(node)+"/"+r.Pod.Name] = string(r.GPUs[0].GPU)
			sum += r.GPUs[0].Memory
		}
	}
	return gpus, sum
}
