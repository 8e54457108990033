//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
)

// nodeName is the name of the only node.
const nodeName = "node-1"

// node is the cluster's only node, with what the API server reports about it.
type node struct {
	program, name, state string
	api                  *apiserver.Client

	mu      sync.Mutex
	object  corev1.Node
	pods    map[string]corev1.Pod
	changed chan struct{}
}

// newNode creates a cluster, with flags of `local up`. It is deleted when the test ends; bin/local checks that nothing is left.
func newNode(t *testing.T, flags ...string) *node {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a local cluster needs root")
	}
	n := &node{
		program: filepath.Join(t.TempDir(), "local"), name: fmt.Sprintf("contract-%06x", rand.IntN(1<<24)),
		pods: map[string]corev1.Pod{}, changed: make(chan struct{}),
	}
	out, err := exec.Command("go", "build", "-C", "../../deploy/local", "-o", n.program, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	t.Cleanup(func() { t.Log(n.local(t, "down")) })
	t.Log(n.local(t, "up", append(flags, "--nodes=1", "--with-pid", fmt.Sprint(os.Getpid()))...))
	var status struct{ Folder string }
	require.NoError(t, json.Unmarshal([]byte(n.local(t, "status", "-o", "json")), &status))
	n.state = status.Folder
	n.api, err = apiserver.Open(n.local(t, "kubeconfig"))
	require.NoError(t, err)
	n.follow(t)
	return n
}

// local runs bin/local for this cluster.
func (n *node) local(t *testing.T, command string, args ...string) string {
	t.Helper()
	out, err := exec.Command(n.program, append([]string{command, "--name", n.name}, args...)...).CombinedOutput()
	require.NoError(t, err, "local %s: %s", command, out)
	return strings.TrimSpace(string(out))
}

// dir returns a path below /var/lib/kubelet of the node.
func (n *node) dir(parts ...string) string {
	return filepath.Join(append([]string{n.state, "nodes", nodeName, "kubelet"}, parts...)...)
}

// configure restarts kubelet with a change of its configuration. CPUs are assigned from the start, as after a drain.
func (n *node) configure(t *testing.T, config string) {
	t.Helper()
	file := filepath.Join(n.state, "nodes", nodeName, "config", "kubelet.conf.d", "test.conf")
	text := "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + config
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	if err := os.Remove(n.dir("cpu_manager_state")); err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	n.local(t, "restart-kubelet", "--node", nodeName)
}

// follow watches the node and its pods until the test ends.
func (n *node) follow(t *testing.T) {
	failed := func(err error) { t.Log(err) }
	var following sync.WaitGroup
	t.Cleanup(following.Wait)
	following.Go(func() {
		apiserver.ListAndWatch(t.Context(), n.api, "/api/v1/nodes", url.Values{},
			func(c apiserver.Change[corev1.Node]) {
				n.change(func() {
					if !c.IsList {
						n.object = c.Object
					} else if len(c.Items) > 0 {
						n.object = c.Items[0]
					}
				})
			}, failed)
	})
	following.Go(func() {
		apiserver.ListAndWatch(t.Context(), n.api, podsPath, url.Values{}, func(c apiserver.Change[corev1.Pod]) {
			n.change(func() {
				switch {
				case c.Deleted:
					delete(n.pods, c.Object.Name)
				case c.IsList:
					clear(n.pods)
					for _, pod := range c.Items {
						n.pods[pod.Name] = pod
					}
				default:
					n.pods[c.Object.Name] = c.Object
				}
			})
		}, failed)
	})
}

func (n *node) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
	close(n.changed)
	n.changed = make(chan struct{})
}

// pod returns the last known state of a pod, and a channel that is closed at the next change.
func (n *node) pod(name string) (pod corev1.Pod, there bool, changed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	pod, there = n.pods[name]
	return pod, there, n.changed
}

// status returns a resource's units in the node's status.
func (n *node) status(resource string) (capacity, allocatable int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.object.Status.Capacity[corev1.ResourceName(resource)]
	a := n.object.Status.Allocatable[corev1.ResourceName(resource)]
	return int(c.Value()), int(a.Value())
}
