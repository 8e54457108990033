package cache_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// BenchmarkUpdate is one reservation that reaches the snapshot, in clusters of different sizes: it should cost the same in all.
func BenchmarkUpdate(b *testing.B) {
	for _, nodes := range []int{500, 5000, 15000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			c := cache.New(nil, gpushare.Resource, slog.New(slog.DiscardHandler))
			var entries []bus.Entry
			for i := range nodes {
				inventory := bus.NodeGPUs{Unit: growth.GiB, Resource: gpushare.Resource}
				for g := range 8 {
					inventory.GPUs = append(inventory.GPUs, bus.GPU{UUID: growth.GPU(fmt.Sprintf("GPU-%05d-%d", i, g)), Memory: 80 * growth.GiB, Healthy: true})
				}
				value, err := bus.Encode(inventory)
				if err != nil {
					b.Fatal(err)
				}
				entries = append(entries, bus.Entry{Key: bus.GPUsKey(name(i)), Value: value, Revision: 1})
			}
			c.Step(cache.OnNodes(bus.Batch{Reset: true, Revision: 1, Entries: entries}))
			value, err := bus.Encode(bus.Reservation{GPUs: []growth.GPUShare{{GPU: "GPU-00007-3", Memory: growth.GiB}}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			revision := bus.Revision(1)
			for b.Loop() {
				revision++
				key := bus.ReservationKey(name(7), "pod")
				if revision%2 == 0 {
					c.Step(cache.OnNodes(bus.Batch{Revision: revision, Entries: []bus.Entry{{Key: key, Value: value, Revision: revision}}}))
				} else {
					c.Step(cache.OnNodes(bus.Batch{Revision: revision, Deleted: []string{key}}))
				}
			}
		})
	}
}

func name(i int) growth.NodeName { return growth.NodeName(fmt.Sprintf("gpu-node-%05d", i)) }
