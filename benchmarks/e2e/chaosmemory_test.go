//go:build e2e && linux

package e2e

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/movechaos"
	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	// missingFor is how long a record may be missing: kubelet starts a killed program again after 10 s or later.
	missingFor = 30 * time.Second
	// leftFor is how long a record may stay after its pod.
	leftFor = 2 * time.Minute
)

// busMemory reads the records of memory from the bus while programs are killed.
type busMemory struct {
	m   *moves
	bus *etcdbus.Bus

	mu       sync.Mutex
	missing  []string
	readings int
}

// followMemory reads the bus twice a second until the test ends.
func (m *moves) followMemory(t *testing.T) *busMemory {
	b, err := m.Bus(t.Context(), t.TempDir())
	require.NoError(t, err)
	r := &busMemory{m: m, bus: b}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		lasting := movechaos.Lasting{Limit: missingFor}
		for ; ctx.Err() == nil; time.Sleep(500 * time.Millisecond) {
			r.observe(ctx, &lasting)
		}
	}()
	t.Cleanup(func() { stop(); <-done; _ = b.Close() })
	return r
}

func (r *busMemory) observe(ctx context.Context, lasting *movechaos.Lasting) {
	now, pods, err := r.read(ctx)
	if err != nil {
		lasting.Unknown()
		return
	}
	missing := lasting.Observe(time.Now(), now.Missing(pods))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing = append(r.missing, missing...)
	r.readings++
}

// read returns what the bus says now, and the pods that share GPUs.
func (r *busMemory) read(ctx context.Context) (movechaos.Memory, []movechaos.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	nodes, _, err := r.bus.List(ctx, bus.Nodes)
	if err != nil {
		return movechaos.Memory{}, nil, err
	}
	going, _, err := r.bus.List(ctx, bus.Moves)
	if err != nil {
		return movechaos.Memory{}, nil, err
	}
	list, err := r.m.Kubernetes.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return movechaos.Memory{}, nil, err
	}
	now, err := movechaos.Read(append(nodes, going...))
	return now, sharing(list.Items), err
}

// sharing returns the pods that share GPUs.
func sharing(list []corev1.Pod) (pods []movechaos.Pod) {
	for _, p := range list {
		if p.Annotations[gpushare.MemoryAnnotation] == "" {
			continue
		}
		pods = append(pods, movechaos.Pod{
			UID:   growth.PodUID(p.UID),
			Name:  p.Name,
			Node:  growth.NodeName(p.Spec.NodeName),
			Runs:  p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil,
			Ended: p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
		})
	}
	return pods
}

// isComplete checks that no record was missing since the last call, and that none stays after its pod.
func (r *busMemory) isComplete(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	missing, readings := r.missing, r.readings
	r.missing, r.readings = nil, 0
	r.mu.Unlock()
	require.Empty(t, missing)
	require.Positive(t, readings, "the bus was read")
	left := errors.New("not read yet")
	for deadline := time.Now().Add(leftFor); left != nil && time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		left = r.left(t.Context())
	}
	require.NoError(t, left, "after %s", leftFor)
}

// left returns an error with the records that stay.
func (r *busMemory) left(ctx context.Context) error {
	now, pods, err := r.read(ctx)
	if err != nil {
		return err
	}
	if left := now.Left(pods); len(left) > 0 {
		return errors.New("the bus still has " + strings.Join(left, "; "))
	}
	return nil
}
