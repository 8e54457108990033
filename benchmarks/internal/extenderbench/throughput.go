package extenderbench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/trellis-gpu/trellis/growth"
	state "github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Throughput is one run of pods through the stock scheduler.
type Throughput struct {
	Extender      string  `json:"extender"`
	Pods          int     `json:"pods"`
	PodsPerSecond float64 `json:"podsPerSecond"`
	// P50 and P99 are from the create call to the Binding, in milliseconds.
	P50, P99 float64
	// Writes counts the extender's writes to the API server, WritesBy the same by verb and resource.
	Writes   int            `json:"writes"`
	WritesBy map[string]int `json:"writesBy"`
	// CPU is each program's CPU time per pod, in milliseconds.
	CPU map[string]float64 `json:"cpuPerPod"`
	// OverCommitted counts GPUs whose pods hold more memory than they have.
	OverCommitted int `json:"overCommitted"`
}

// throughput runs the same pods under each extender, in turns.
func (b *bench) throughput(ctx context.Context, p *plane) error {
	store, err := openBus(ctx, p.stock, b.dir)
	if err != nil {
		return err
	}
	defer store.close()
	f := newFleet(b.Seed)
	nodes := f.grow(b.scale.throughputNodes)
	if err := errors.Join(publishInventories(ctx, store, nodes), p.register(ctx, nodes)); err != nil {
		return err
	}
	names := []string{"null", "binpack", "growth"}
	for round := range b.scale.throughputRounds {
		for _, index := range interleaved(len(names), round) {
			measured, err := b.measureThroughput(ctx, p, store, names[index])
			if err != nil {
				return fmt.Errorf("%s: %w", names[index], err)
			}
			b.out.Throughput = append(b.out.Throughput, measured)
			b.say("%s: %.1f pods/s, create to bound p50 %.0f ms, p99 %.0f ms, %d writes for %d pods",
				measured.Extender, measured.PodsPerSecond, measured.P50, measured.P99, measured.Writes, measured.Pods)
		}
	}
	return nil
}

// measureThroughput starts one extender with its own scheduler, and measures how fast pods are bound.
func (b *bench) measureThroughput(ctx context.Context, p *plane, store *bus, name string) (Throughput, error) {
	begin := func() (contestant, error) { return b.startExtender(p, store, name) }
	if name == "null" {
		begin = func() (contestant, error) { return b.startNullExtender(p) }
	}
	c, err := begin()
	if err != nil {
		return Throughput{}, err
	}
	defer c.stop()
	if err := c.wait(ctx); err != nil {
		return Throughput{}, err
	}
	scheduler, err := p.scheduler(c.url)
	if err != nil {
		return Throughput{}, err
	}
	defer scheduler.stop()
	if _, err := b.bind(ctx, p, "warm-up", 20); err != nil {
		return Throughput{}, fmt.Errorf("warming up: %w: %s", err, scheduler.Output())
	}
	before, err := p.countWrites()
	if err != nil {
		return Throughput{}, err
	}
	spent := meter(map[string]*process{"extender": c.process, "scheduler": scheduler, "API server": {p.APIServerProcess}, "its etcd": {p.EtcdProcess}, "bus": store.etcd})
	measured, err := b.bind(ctx, p, "measured", b.scale.throughputPods)
	if err != nil {
		return Throughput{}, fmt.Errorf("%w: %s", err, scheduler.Output())
	}
	measured.CPU = spent(measured.Pods)
	after, err := p.countWrites()
	if err != nil {
		return Throughput{}, err
	}
	measured.Extender, measured.WritesBy = name, map[string]int{}
	for what, count := range after {
		if count -= before[what]; count > 0 {
			measured.Writes += count
			measured.WritesBy[what] = count
		}
	}
	if name != "null" {
		measured.OverCommitted, err = p.overCommitted(ctx)
	}
	return measured, errors.Join(err, p.clearPods(ctx), deleteReservations(ctx, store))
}

// bind creates pods one after another, and waits until all are bound.
func (b *bench) bind(ctx context.Context, p *plane, prefix string, pods int) (Throughput, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	watcher, err := p.client.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return Throughput{}, err
	}
	defer watcher.Stop()
	bound := make(chan map[string]time.Time, 1)
	go func() { bound <- awaitBindings(watcher, prefix, pods) }()
	random, created := rand.New(rand.NewPCG(b.Seed, 4)), map[string]time.Time{}
	start := time.Now()
	for i := range pods {
		name := fmt.Sprintf("%s-%05d", prefix, i)
		created[name] = time.Now()
		if _, err := p.client.CoreV1().Pods("default").Create(ctx, job(name, sizes()[random.IntN(len(sizes()))]), metav1.CreateOptions{}); err != nil {
			return Throughput{}, err
		}
	}
	at := <-bound
	if len(at) < pods {
		return Throughput{}, fmt.Errorf("%d of %d pods were bound", len(at), pods)
	}
	var waits times
	last := start
	for name, when := range at {
		waits = append(waits, when.Sub(created[name]))
		if when.After(last) {
			last = when
		}
	}
	return Throughput{
		Pods: pods, PodsPerSecond: float64(pods) / last.Sub(start).Seconds(),
		P50: milliseconds(waits.quantile(0.5)), P99: milliseconds(waits.quantile(0.99)),
	}, nil
}

// awaitBindings reads a watch until all pods are bound, or the watch ends. It returns when each pod was bound.
func awaitBindings(watcher watch.Interface, prefix string, pods int) map[string]time.Time {
	at := map[string]time.Time{}
	for event := range watcher.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || event.Type == watch.Deleted || pod.Spec.NodeName == "" || !strings.HasPrefix(pod.Name, prefix) {
			continue
		}
		if _, known := at[pod.Name]; !known {
			at[pod.Name] = time.Now()
		}
		if len(at) == pods {
			break
		}
	}
	return at
}

// countWrites counts the extender's writes so far, by verb and resource.
func (p *plane) countWrites() (map[string]int, error) {
	log, err := os.Open(p.audit())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	counts := map[string]int{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb      string `json:"verb"`
			ObjectRef struct {
				Resource    string `json:"resource"`
				Subresource string `json:"subresource"`
			} `json:"objectRef"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("the API server's audit log: %w", err)
		}
		counts[strings.TrimSuffix(event.Verb+" "+event.ObjectRef.Resource+"/"+event.ObjectRef.Subresource, "/")]++
	}
	return counts, lines.Err()
}

// overCommitted counts the GPUs whose bound pods hold more than their memory.
func (p *plane) overCommitted(ctx context.Context) (int, error) {
	pods, err := p.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	held := map[string]int64{}
	for i := range pods.Items {
		units := pods.Items[i].Spec.Containers[0].Resources.Limits[gpushare.Resource]
		held[pods.Items[i].Annotations[gpushare.GPUAnnotation]] += units.Value()
	}
	over := 0
	for gpu, units := range held {
		if gpu == "" || growth.MiB(units)*growth.GiB > gpuMemory {
			over++
		}
	}
	return over, nil
}

// deleteReservations deletes all reservations.
func deleteReservations(ctx context.Context, store *bus) error {
	entries, _, err := store.List(ctx, state.Nodes)
	if err != nil {
		return err
	}
	return each(ctx, entries, func(ctx context.Context, e state.Entry) error {
		if key, err := state.ParseKey(e.Key); err != nil || key.Kind != state.KindReservation {
			return nil
		}
		return store.Delete(ctx, e.Key)
	})
}
