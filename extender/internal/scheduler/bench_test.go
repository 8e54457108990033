package scheduler_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// acceptingAPI is an API server that accepts every Binding.
type acceptingAPI struct{ pod *corev1.Pod }

func (a acceptingAPI) Pod(context.Context, string, string) (*corev1.Pod, error) { return a.pod, nil }
func (a acceptingAPI) Bind(context.Context, *corev1.Binding) error              { return nil }

// BenchmarkBind binds one pod repeatedly, without a network.
func BenchmarkBind(b *testing.B) {
	session := membus.New().Session()
	inventory := bus.NodeGPUs{Unit: growth.GiB, Resource: gpushare.Resource}
	for g := range 8 {
		inventory.GPUs = append(inventory.GPUs, bus.GPU{UUID: growth.GPU(fmt.Sprint("GPU-", g)), Memory: 80 * growth.GiB, Healthy: true})
	}
	value, err := bus.Encode(inventory)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := session.Put(b.Context(), bus.GPUsKey("n"), value, bus.Persistent); err != nil {
		b.Fatal(err)
	}
	entries, revision, err := session.List(b.Context(), bus.Nodes)
	if err != nil {
		b.Fatal(err)
	}
	nodes := cache.New(nil, gpushare.Resource, slog.New(slog.DiscardHandler))
	nodes.Step(cache.OnNodes(bus.Batch{Reset: true, Revision: revision, Entries: entries}))
	nodes.Step(cache.OnJobs(bus.Batch{Reset: true, Revision: revision}))
	nodes.Step(cache.Informed())
	policy, err := placement.NewPolicy("growth", nil)
	if err != nil {
		b.Fatal(err)
	}
	pod := clustertest.Pod("p", "8Gi", 8)
	d := &scheduler.Scheduler{
		Cache: nodes, Policy: policy, Store: reservations.Store{Bus: session, OverCommitted: func() {}}, Assumed: &reservations.Assumed{}, API: acceptingAPI{pod},
		Resource: gpushare.Resource, Log: slog.New(slog.DiscardHandler), OnConflict: func() {},
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Bind(b.Context(), clustertest.Ref(pod), "n"); err != nil {
			b.Fatal(err)
		}
	}
}
