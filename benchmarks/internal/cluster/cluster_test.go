package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	core "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

var tunerService = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Tuner}}

// answering returns a connection whose tuner gives one answer after another, and then repeats the last one.
func answering(objects []runtime.Object, answers ...string) *cluster.Connection {
	asked := 0
	return &cluster.Connection{
		Kubernetes: fake.NewClientset(objects...),
		Proxy: func(context.Context, string, string, string, string) (io.ReadCloser, error) {
			answer := answers[min(asked, len(answers)-1)]
			if asked++; answer == "" {
				return nil, errors.New("no endpoints available")
			}
			return io.NopCloser(strings.NewReader(answer)), nil
		},
	}
}

// admitting makes the fake API server admit pods, and turn the annotation into limits as the admission policy does.
func admitting(c *cluster.Connection, limits corev1.ResourceList) {
	c.Kubernetes.(*fake.Clientset).PrependReactor("create", "pods", func(action core.Action) (bool, runtime.Object, error) {
		pod := action.(core.CreateAction).GetObject().(*corev1.Pod).DeepCopy()
		pod.Spec.Containers[0].Resources.Limits = limits
		return true, pod, nil
	})
}

var want = cluster.Expectation{Nodes: 1, Policy: "flowcon", Probe: &corev1.Pod{
	ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "probe"},
	Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "train"}}},
}}

const oneNode = `{"synced":true,"nodes":[{"node":"n1","gpus":{"v":1,"gpus":[{"uuid":"GPU-1"}]},"load":{"v":1,"policy":"flowcon"}}]}`

func TestAwaitReady_ReportsTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := answering([]runtime.Object{tunerService}, "", `{"synced":false}`, `{"synced":true}`, `{"synced":true}`,
			strings.Replace(oneNode, "flowcon", "fair", 1), oneNode)
		admitting(c, corev1.ResourceList{gpushare.Resource: resource.MustParse("8")})
		var said []string
		require.NoError(t, c.AwaitReady(t.Context(), want, func(text string) { said = append(said, text) }))
		require.Equal(t, []string{
			"waiting: asking the tuner: no endpoints available",
			"waiting: the tuner has not read the bus yet",
			"waiting: 0 of 1 nodes have a device plugin and a coordinator at work",
			"waiting: the coordinator of n1 still has policy fair",
		}, said)
	})
}

func TestAwaitReady_TimesOutWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := answering([]runtime.Object{tunerService}, oneNode)
		admitting(c, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := c.AwaitReady(ctx, want, func(string) {})
		require.ErrorContains(t, err, "admission does not turn annotation gpushare/gpu-mem into a limit")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestAwaitReady_FailsWithoutTrellis(t *testing.T) {
	err := answering(nil, oneNode).AwaitReady(t.Context(), want, func(string) {})
	require.ErrorIs(t, err, cluster.ErrNotInstalled)
}

func TestMachineImage(t *testing.T) {
	node := &corev1.Node{Status: corev1.NodeStatus{Images: []corev1.ContainerImage{
		{Names: []string{"pause:1"}}, {Names: []string{"sha256:1", "trellis.local/machine:abc"}},
	}}}
	image, err := answering([]runtime.Object{node}, "").MachineImage(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, "trellis.local/machine:abc", image)
	_, err = answering(nil, "").MachineImage(t.Context(), time.Millisecond)
	require.ErrorContains(t, err, "--image")
}

func TestStories_ReturnsEachEventOnce(t *testing.T) {
	event := func(name string, second int, count int32) *corev1.Event {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "demo", Name: name, UID: "uid-" + "x"},
			InvolvedObject: corev1.ObjectReference{Name: "vae-1"}, Source: corev1.EventSource{Component: "coordinator"},
			Reason: "ShareChanged", Message: "more", Count: count, LastTimestamp: metav1.NewTime(time.Unix(int64(second), 0)),
		}
	}
	c := answering([]runtime.Object{event("a", 1, 1)}, "")
	var stories cluster.Stories
	fresh, err := stories.New(t.Context(), c, "demo")
	require.NoError(t, err)
	require.Len(t, fresh, 1)
	require.Equal(t, "coordinator", fresh[0].From)

	fresh, err = stories.New(t.Context(), c, "demo")
	require.NoError(t, err)
	require.Empty(t, fresh)

	_, err = c.Kubernetes.CoreV1().Events("demo").Update(t.Context(), event("a", 9, 2), metav1.UpdateOptions{})
	require.NoError(t, err)
	fresh, err = stories.New(t.Context(), c, "demo")
	require.NoError(t, err)
	require.Len(t, fresh, 1, "one more occurrence is news")
	require.Equal(t, time.Unix(9, 0), fresh[0].At)
}

// The API server answers in pages, sorted by name.
func TestStories_ReadsEveryPage(t *testing.T) {
	c := answering(nil, "")
	c.Kubernetes.(*fake.Clientset).PrependReactor("list", "events", func(action core.Action) (bool, runtime.Object, error) {
		options := action.(core.ListActionImpl).ListOptions
		name := options.Continue + "x"
		list := &corev1.EventList{Items: []corev1.Event{{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Message: name}}}
		if len(name) < 3 {
			list.Continue = name
		}
		return true, list, nil
	})
	fresh, err := new(cluster.Stories).New(t.Context(), c, "demo")
	require.NoError(t, err)
	require.Len(t, fresh, 3)
}

// script is a fake bin/local: it records its arguments and runs body.
func script(t *testing.T, body string) cluster.Local {
	t.Helper()
	path := filepath.Join(t.TempDir(), "local")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho \"$@\"\n"+body+"\n"), 0o755))
	return cluster.Local{Program: path, Name: "demo", Nodes: 2, GPUs: "emulated:2x24GiB", Out: &bytes.Buffer{}, Err: io.Discard}
}

func TestLocal_PassesArguments(t *testing.T) {
	local := script(t, "")
	require.NoError(t, local.Up(t.Context(), 77))
	require.NoError(t, local.Up(t.Context(), 0))
	require.NoError(t, local.Install(t.Context(), "fair", 5*time.Second))
	require.NoError(t, local.Down(t.Context()))
	said := local.Out.(*bytes.Buffer).String()
	require.Equal(t, `up --name demo --nodes 2 --with-pid 77
up --name demo --nodes 2
install --name demo --gpus emulated:2x24GiB --policy fair --interval 5s
down --name demo
`, said)
	kubeconfig, err := local.Kubeconfig(t.Context())
	require.NoError(t, err)
	require.Equal(t, "kubeconfig --name demo", kubeconfig)
	require.True(t, local.IsUp(t.Context()))
	require.False(t, local.Exists(t.Context()))
	require.True(t, script(t, "echo other; echo demo").Exists(t.Context()))
	require.True(t, script(t, "exit 1").Exists(t.Context()))
}

func TestLocal_ErrorsNameTheCommand(t *testing.T) {
	local := script(t, "exit 3")
	require.ErrorContains(t, local.Up(t.Context(), 0), "bringing the cluster up: local up: exit status 3")
	require.ErrorContains(t, local.Down(t.Context()), "try again")
	require.False(t, local.IsUp(t.Context()))
}

func TestFindProgram(t *testing.T) {
	local := script(t, "")
	found, err := cluster.FindProgram(filepath.Join(filepath.Dir(local.Program), "benchmarks"))
	require.NoError(t, err)
	require.Equal(t, local.Program, found)
	t.Setenv("PATH", "")
	_, err = cluster.FindProgram(filepath.Join(t.TempDir(), "benchmarks"))
	require.ErrorContains(t, err, "make build")
}

func TestConnect_AcceptsAListOfKubeconfigs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"contexts":[{"name":"c","context":{"cluster":"k"}}],"clusters":[{"name":"k","cluster":{"server":"https://192.0.2.1"}}]}`), 0o600))
	for name, kubeconfig := range map[string]string{"one": file, "several": "/nonexistent" + string(os.PathListSeparator) + file} {
		t.Run(name, func(t *testing.T) {
			_, err := cluster.Connect(kubeconfig)
			require.NoError(t, err)
		})
	}
	_, err := cluster.Connect("/nonexistent")
	require.ErrorContains(t, err, "kubeconfig /nonexistent")
}
