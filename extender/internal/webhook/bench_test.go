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
	"github.com/trellis-gpu/trellis/growth/placement"
)

const benchNodes = 5000

// cluster returns a cache of nodes with 8 GPUs of 80 GiB each, and the names of the nodes. A job holds this many GiB of each
// GPU.
func cluster(b *testing.B, count, held int) (*cache.Cache, []string) {
	b.Helper()
	names, entries := make([]string, count), []bus.Entry(nil)
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
	nodes := cache.New(nil, gpushare.Resource, slog.New(slog.DiscardHandler))
	nodes.Step(cache.OnNodes(bus.Batch{Reset: true, Revision: 1, Entries: entries}))
	nodes.Step(cache.OnJobs(bus.Batch{Reset: true, Revision: 1}))
	nodes.Step(cache.Informed())
	return nodes, names
}

// discard is an http.ResponseWriter that discards the body.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) WriteHeader(int)             {}
func (d discard) Write(b []byte) (int, error) { return len(b), nil }

// BenchmarkVerbs measures filter and prioritize on 5,000 nodes: with cached verdicts (warm), and without (cold), as after a
// restart.
func BenchmarkVerbs(b *testing.B) {
	for _, verb := range []string{"filter", "prioritize"} {
		for _, full := range []int{0, 40, 76} {
			nodes, names := cluster(b, benchNodes, full)
			policy, err := placement.NewPolicy("growth", nil)
			if err != nil {
				b.Fatal(err)
			}
			s := &scheduler.Scheduler{Cache: nodes, Policy: policy, Resource: gpushare.Resource, Log: slog.New(slog.DiscardHandler)}
			handler := webhook.Handler(s, ignore{}, slog.New(slog.DiscardHandler))
			send := func(gib int) {
				handler.ServeHTTP(discard{http.Header{}}, httptest.NewRequest(http.MethodPost, "/"+verb, strings.NewReader(requestBody(b, gib, names))))
			}
			b.Run(fmt.Sprintf("%s/full=%d%%/warm", verb, full*100/80), func(b *testing.B) {
				body := requestBody(b, 8, names)
				b.ReportAllocs()
				for b.Loop() {
					handler.ServeHTTP(discard{http.Header{}}, httptest.NewRequest(http.MethodPost, "/"+verb, strings.NewReader(body)))
				}
			})
			b.Run(fmt.Sprintf("%s/full=%d%%/cold", verb, full*100/80), func(b *testing.B) {
				gib := 0
				for b.Loop() {
					send(1 + gib%80) // more sizes than a node has cached verdicts for
					gib++
				}
			})
		}
	}
}

func requestBody(b *testing.B, gib int, names []string) string {
	b.Helper()
	pod := clustertest.Pod("job", fmt.Sprintf("%dGi", gib), gib)
	body, err := json.Marshal(map[string]any{"Pod": pod, "Nodes": nil, "NodeNames": names})
	if err != nil {
		b.Fatal(err)
	}
	return string(body)
}
