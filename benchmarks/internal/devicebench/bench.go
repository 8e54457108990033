package devicebench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/shipped"
	"github.com/trellis-gpu/trellis/daemon/controlplanetest"
	"github.com/trellis-gpu/trellis/daemon/kubelettest"
)

const (
	node = "bench"
	// gpus is the largest node.
	gpus = "emulated:8x141GiB"
	// pods run at once, with this many units each.
	pods  = 200
	units = 4
)

// Options configure the benchmark.
type Options struct {
	// Plugin and Etcd are the paths of the binaries.
	Plugin, Etcd string
	// Rounds is the number of repetitions, each with new processes. Churn is the number of pods that each replaces.
	Rounds, Churn int
	// Log receives progress messages.
	Log io.Writer
}

// Settings returns the settings that the figures depend on.
func (o Options) Settings() map[string]string {
	return map[string]string{
		"deviceplugin --gpus": gpus,
		"deviceplugin GOGC":   shipped.DevicepluginGOGC,
		"etcd fsync":          "off",
		"pods":                fmt.Sprintf("%d running, %d replaced per round", pods, o.Churn),
		"rounds":              strconv.Itoa(o.Rounds),
	}
}

// Figures has one value per round.
type Figures struct {
	AllocateP50, AllocateP99, PreStartP50, PreStartP99 []float64 // milliseconds
	Message                                            []float64 // KiB
	Resident, Anonymous                                []float64 // MB
}

// Goals returns the figures with their targets.
func (f Figures) Goals() []results.Goal {
	return []results.Goal{
		results.Measured("Allocate, p99", "ms", f.AllocateP99).AtMost(5),
		results.Measured("Allocate, p50", "ms", f.AllocateP50),
		results.Measured("PreStartContainer with 200 pods, p99", "ms", f.PreStartP99).AtMost(50),
		results.Measured("PreStartContainer with 200 pods, p50", "ms", f.PreStartP50),
		results.Measured("ListAndWatch message, 8 x 141 GiB", "KiB", f.Message).AtMost(256),
		results.Measured("resident memory", "MB", f.Resident).AtMost(30),
		results.Measured("of it anonymous", "MB", f.Anonymous),
	}
}

// Run measures all rounds.
func Run(ctx context.Context, o Options) (Figures, error) {
	var f Figures
	for round := range o.Rounds {
		_, _ = fmt.Fprintf(o.Log, "round %d of %d\n", round+1, o.Rounds)
		if err := o.round(ctx, &f); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (o Options) round(ctx context.Context, f *Figures) error {
	dir, err := os.MkdirTemp("", "devicebench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	measured := &latencies{}
	kubelet, err := kubelettest.Start(grpc.WithUnaryInterceptor(measured.intercept))
	if err != nil {
		return err
	}
	defer kubelet.Close()
	api, address, err := startAPIServer(pods, units)
	if err != nil {
		return err
	}
	defer func() { _ = api.Close() }()
	// etcd does not sync its disk: a cluster's etcd has its own disk, while here the plugin's writes would wait for etcd's.
	bus, endpoint, err := controlplanetest.StartEtcd(ctx, filepath.Dir(o.Etcd), dir)
	if err != nil {
		return err
	}
	defer bus.Stop()
	plugin, health, err := startPlugin(o.Plugin, dir, kubelet, address, endpoint)
	if err != nil {
		return err
	}
	defer plugin.Stop()
	if err := ready(ctx, kubelet, health); err != nil {
		return fmt.Errorf("%w; its output:\n%s", err, plugin.Output())
	}
	allocate, prestart, err := o.drive(ctx, kubelet, measured, api)
	if err != nil {
		return fmt.Errorf("%w; its output:\n%s", err, plugin.Output())
	}
	f.AllocateP50, f.AllocateP99 = append(f.AllocateP50, quantile(allocate, 0.5)), append(f.AllocateP99, quantile(allocate, 0.99))
	f.PreStartP50, f.PreStartP99 = append(f.PreStartP50, quantile(prestart, 0.5)), append(f.PreStartP99, quantile(prestart, 0.99))
	f.Message = append(f.Message, float64(kubelet.ListSize())/1024)
	resident, anonymous, err := plugin.memory()
	f.Resident, f.Anonymous = append(f.Resident, resident), append(f.Anonymous, anonymous)
	return err
}

// drive fills the node, then replaces pods, the oldest first, and restarts containers.
func (o Options) drive(
	ctx context.Context, kubelet *kubelettest.Kubelet, measured *latencies, api *apiServer,
) (allocate, prestart []time.Duration, err error) {
	var all []*kubelettest.Pod
	for i := range pods + o.Churn {
		if i >= pods {
			kubelet.Remove(all[i-pods])
			api.replace(i-pods, i)
		}
		pod := &kubelettest.Pod{
			Namespace:  "default",
			Name:       podName(i),
			Containers: []*kubelettest.Container{{Name: "main", Units: units}},
		}
		all = append(all, pod)
		if err := kubelet.Admit(ctx, pod); err != nil {
			return nil, nil, err
		}
		if err := kubelet.StartContainers(ctx, pod); err != nil {
			return nil, nil, fmt.Errorf("starting %s: %w", pod.Name, err)
		}
		if i < pods {
			continue
		}
		allocated, first := measured.last()
		if err := kubelet.StartContainers(ctx, all[i-(i*7)%pods]); err != nil {
			return nil, nil, fmt.Errorf("starting a container again: %w", err)
		}
		_, again := measured.last()
		allocate = append(allocate, allocated)
		prestart = append(prestart, first, again)
	}
	return allocate, prestart, nil
}

// quantile returns a quantile in milliseconds.
func quantile(of []time.Duration, q float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return float64(sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Microseconds()) / 1000
}

// ready waits until kubelet has the plugin's devices, and the plugin has read the bus and the pods.
func ready(ctx context.Context, kubelet *kubelettest.Kubelet, health string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if text, ok := get(ctx, health+"/readyz"); ok && text == "ok\n" && kubelet.Allocatable() > 0 {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the plugin did not register or become ready: %w", ctx.Err())
		}
	}
}

func get(ctx context.Context, url string) (string, bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", false
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", false
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(reply.Body, 1<<20))
	return string(text), err == nil && reply.StatusCode == http.StatusOK
}

// kubeconfig writes a kubeconfig for the fake API server.
func kubeconfig(dir, server string) (string, error) {
	path := filepath.Join(dir, "kubeconfig")
	return path, os.WriteFile(path, []byte(strings.ReplaceAll(`
current-context: it
contexts: [{name: it, context: {cluster: it}}]
clusters: [{name: it, cluster: {server: "SERVER"}}]
`, "SERVER", server)), 0o600)
}
