package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/node"
	"github.com/trellis-gpu/trellis/growth"
)

func TestLabels(t *testing.T) {
	big := gpu.Device{UUID: "A", Model: "NVIDIA A100-SXM4-80GB", Memory: 81920}
	small := gpu.Device{UUID: "B", Model: "NVIDIA A100-SXM4-40GB", Memory: 40960}
	for name, tc := range map[string]struct {
		devices  []gpu.Device
		driver   string
		emulated bool
		want     map[string]string
	}{
		"equal GPUs": {[]gpu.Device{big, big}, "550.54.15", false, map[string]string{
			"gpushare/gpu-count": "2", "gpushare/gpu-model": "NVIDIA-A100-SXM4-80GB", "gpushare/gpu-memory": "81920",
			"gpushare/gpu-driver": "550.54.15",
		}},
		"different GPUs have the smaller memory": {[]gpu.Device{big, small}, "", false, map[string]string{
			"gpushare/gpu-count": "2", "gpushare/gpu-model": "mixed", "gpushare/gpu-memory": "40960",
		}},
		"three different GPUs are mixed": {[]gpu.Device{big, small, big}, "", false, map[string]string{
			"gpushare/gpu-count": "3", "gpushare/gpu-model": "mixed", "gpushare/gpu-memory": "40960",
		}},
		"emulated": {[]gpu.Device{{Model: "emulated 24GiB", Memory: 24576}}, "", true, map[string]string{
			"gpushare/gpu-count": "1", "gpushare/gpu-model": "emulated-24GiB", "gpushare/gpu-memory": "24576",
			"gpushare/gpu-emulated": "true",
		}},
		"MIG and NVLink": {[]gpu.Device{{
			Model:    "m",
			Memory:   1,
			Instance: &gpu.Instance{},
		}, {
			Model:  "m",
			Memory: 1,
			Links:  []growth.GPU{"A"},
		}}, "", false, map[string]string{
			"gpushare/gpu-count": "2", "gpushare/gpu-model": "m", "gpushare/gpu-memory": "1",
			"gpushare/gpu-mig": "true", "gpushare/gpu-nvlink": "true",
		}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, node.Labels(tc.devices, tc.driver, tc.emulated)) })
	}
}

func FuzzLabels(f *testing.F) {
	f.Add("NVIDIA A100", "550.54.15")
	f.Add("--\x00ü", "")
	allowed := regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
	f.Fuzz(func(t *testing.T, model, driver string) {
		for _, value := range node.Labels([]gpu.Device{{Model: model, Memory: 1}}, driver, true) {
			require.Regexp(t, allowed, value)
		}
	})
}

// fakeAPIServer serves one node with an annotation that tests can set.
type fakeAPIServer struct {
	mu      sync.Mutex
	cordon  string
	changed chan struct{}
	labels  chan map[string]any
}

func (c *fakeAPIServer) set(cordon string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cordon = cordon
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *fakeAPIServer) current() (string, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf(`{"metadata":{"name":"n1","resourceVersion":"1","annotations":{"gpushare/cordon":%q}}}`,
		c.cordon), c.changed
}

func (c *fakeAPIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	object, changed := c.current()
	switch {
	case r.Method == http.MethodPatch:
		var applied struct {
			Metadata struct{ Labels map[string]any }
		}
		_ = json.NewDecoder(r.Body).Decode(&applied)
		c.labels <- applied.Metadata.Labels
	case r.URL.Query().Get("watch") == "":
		_, _ = fmt.Fprintf(w, `{"metadata":{"resourceVersion":"1"},"items":[%s]}`, object)
	default:
		for { // changes since the list come first
			_, _ = io.WriteString(w, `{"type":"MODIFIED","object":`+object+"}\n")
			w.(http.Flusher).Flush()
			select {
			case <-changed:
				object, changed = c.current()
			case <-r.Context().Done():
				return
			}
		}
	}
}

type list []gpu.Device

func (l list) Devices(context.Context) ([]gpu.Device, error) { return l, nil }

func TestCordon_FollowsAnnotation(t *testing.T) {
	c := &fakeAPIServer{cordon: "B", changed: make(chan struct{}), labels: make(chan map[string]any, 9)}
	server := httptest.NewServer(c)
	defer server.Close()
	log := slog.New(slog.DiscardHandler)
	client := apiserver.New(server.Client(), server.URL)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cordon := node.NewCordon(log)
	inventory, err := gpu.Open(ctx, list{
		{UUID: "A", Memory: 1024, Healthy: true}, {UUID: "B", Memory: 1024, Healthy: true},
		{
			UUID:     "MIG-1",
			Memory:   1024,
			Healthy:  true,
			Instance: &gpu.Instance{Parent: "C"},
		},
	}, 1024, log, cordon)
	require.NoError(t, err)
	go func() { _ = inventory.Run(ctx, time.Hour, time.Hour) }()
	watch := node.Watch{Client: client, Node: "n1", Log: log}
	go func() {
		_ = watch.Run(ctx, func(annotations map[string]string) error {
			if cordon.Update(annotations) {
				inventory.Reevaluate()
			}
			return nil
		})
	}()
	awaitHealth := func(want ...bool) {
		t.Helper()
		for {
			devices, changed := inventory.Devices()
			got := []bool{devices[0].Healthy, devices[1].Healthy, devices[2].Healthy}
			if fmt.Sprint(got) == fmt.Sprint(want) {
				return
			}
			select {
			case <-changed:
			case <-time.After(10 * time.Second):
				t.Fatalf("%v instead of %v", got, want)
			}
		}
	}
	awaitHealth(true, false, true)
	c.set(" A , C,nobody")
	awaitHealth(false, true, false)
	devices, _ := inventory.Devices()
	require.Contains(t, devices[0].Reason, "gpushare/cordon")
	c.set("")
	awaitHealth(true, true, true)

	handleErr := errors.New("rejected by the test")
	require.ErrorIs(t, watch.Run(ctx, func(map[string]string) error { return handleErr }), handleErr)

	go func() {
		_ = node.Labeller{
			Client:    client,
			Node:      "n1",
			Inventory: inventory,
			Log:       log,
		}.Run(ctx)
	}()
	require.Equal(t, "3", (<-c.labels)["gpushare/gpu-count"])
}
