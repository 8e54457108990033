package webhook_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/extender/internal/webhook"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

const benchNodes = 5000

// cluster is a view of nodes with 8 GPUs of 80 GiB each; a job holds so many GiB on each GPU.
func cluster(b *testing.B, nodes, held int) (*cache.Cache, []string) {
	b.Helper()
	names, entries := make([]string, nodes), []bus.Entry(nil)
	put := func(key string, value []byte, err error) {
		if err != nil {
			b.Fatal(err)
		}
		entries = append(entries, bus.Entry{Key: key, Value: value, Revision: 1})
	}
	for i := range names {
		names[i] = fmt.Sprintf("gpu-node-%05d", i)
		node := growth.NodeName(names[i])
		inventory := bus.NodeGPUs{Unit: growth.GiB, Resource: gpushare.Resource}
		for g := range 8 {
			gpu := growth.GPU(fmt.Sprintf("GPU-%05d-%d", i, g))
			inventory.GPUs = append(inventory.GPUs, bus.GPU{UUID: gpu, Memory: 80 * growth.GiB, Healthy: true})
			if held > 0 {
				pod := growth.PodUID(fmt.Sprintf("pod-%05d-%d", i, g))
				value, err := bus.Encode(bus.Allocation{Containers: []bus.ContainerAllocation{{
					Name: "train", GPUs: []growth.GPUShare{{GPU: gpu, Memory: growth.MiB(held) * growth.GiB}},
				}}})
				put(bus.AllocationKey(node, pod), value, err)
			}
		}
		value, err := bus.Encode(inventory)
		put(bus.GPUsKey(node), value, err)
	}
	keeper := cache.New(nil, gpushare.Resource, slog.New(slog.DiscardHandler))
	keeper.Step(cache.OnNodes(bus.Batch{Reset: true, Revision: 1, Entries: entries}))
	keeper.Step(cache.OnJobs(bus.Batch{Reset: true, Revision: 1}))
	keeper.Step(cache.Informed())
	return keeper, names
}

// nowhere is a response writer that keeps nothing.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) WriteHeader(int)             {}
func (n nowhere) Write(b []byte) (int, error) { return len(b), nil }

// BenchmarkVerbs asks about 5,000 nodes, whose verdicts are remembered (warm) or not, as after a restart (cold).
func BenchmarkVerbs(b *testing.B) {
	for _, verb := range []string{"filter", "prioritize"} {
		for _, full := range []int{0, 40, 76} {
			keeper, names := cluster(b, benchNodes, full)
			policy, err := placement.NewPolicy("growth", interference.Prior())
			if err != nil {
				b.Fatal(err)
			}
			decider := &scheduler.Scheduler{Cache: keeper, Policy: policy, Resource: gpushare.Resource, Log: slog.New(slog.DiscardHandler)}
			handler := webhook.Handler(decider, ignore{}, slog.New(slog.DiscardHandler))
			ask := func(gib int) {
				handler.ServeHTTP(nowhere{http.Header{}}, httptest.NewRequest(http.MethodPost, "/"+verb, strings.NewReader(question(b, gib, names))))
			}
			b.Run(fmt.Sprintf("%s/full=%d%%/warm", verb, full*100/80), func(b *testing.B) {
				body := question(b, 8, names)
				b.ReportAllocs()
				for b.Loop() {
					handler.ServeHTTP(nowhere{http.Header{}}, httptest.NewRequest(http.MethodPost, "/"+verb, strings.NewReader(body)))
				}
			})
			b.Run(fmt.Sprintf("%s/full=%d%%/cold", verb, full*100/80), func(b *testing.B) {
				gib := 0
				for b.Loop() {
					ask(1 + gib%80) // more sizes than a node remembers
					gib++
				}
			})
		}
	}
}

func question(b *testing.B, gib int, names []string) string {
	b.Helper()
	pod := clustertest.Pod("asked", fmt.Sprintf("%dGi", gib), gib)
	body, err := json.Marshal(map[string]any{"Pod": pod, "Nodes": nil, "NodeNames": names})
	if err != nil {
		b.Fatal(err)
	}
	return string(body)
}
