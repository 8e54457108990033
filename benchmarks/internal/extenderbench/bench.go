package extenderbench

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/shipped"
)

// Options select what to measure.
type Options struct {
	// Binaries is the folder of the extender and this program, Stock the folder of etcd, kube-apiserver and
	// kube-scheduler.
	Binaries, Stock string
	// Only lists the parts to measure; empty means all of Parts.
	Only []string
	// Quick measures less of everything. Seed determines the requests.
	Quick bool
	Seed  uint64
	// Attempts is the maximum number of times that a turn is repeated because the machine was disturbed.
	Attempts int
	// Out receives each figure as soon as it is measured.
	Out io.Writer
}

// Parts lists the parts of the benchmark.
func Parts() []string { return []string{"service", "linear", "throughput", "start"} }

// Measured has the results of all parts.
type Measured struct {
	Service    []Service    `json:"service,omitempty"`
	Linear     []Linear     `json:"linear,omitempty"`
	Throughput []Throughput `json:"throughput,omitempty"`
	Start      []Start      `json:"start,omitempty"`
}

// scale is the size of each part.
type scale struct {
	services                                          []serviceSize
	linearNodes                                       []int
	rounds, pods                                      int
	throughputNodes, throughputPods, throughputRounds int
	startNodes, startPods, starts                     int
}

// serviceSize is the number of nodes and the number of pods per turn, for service times. The kernel counts stolen time in
// hundredths of a second, so a turn must last a second to detect one per cent.
type serviceSize struct {
	nodes, pods int
}

func scaled(quick bool) scale {
	if quick {
		return scale{[]serviceSize{{1000, 50}}, []int{500, 2000}, 4, 50, 200, 60, 1, 500, 1000, 1}
	}
	return scale{[]serviceSize{{1000, 1000}, {5000, 500}}, []int{500, 1000, 5000, 15000}, 20, 200, 1000, 300, 15, 5000, 20_000, 3}
}

// Settings returns the settings that the figures depend on. The extender's placement policy is growth, unless the name
// of a figure has another one.
func (o Options) Settings() map[string]string {
	s := scaled(o.Quick)
	return map[string]string{
		"extender GOGC":     shipped.ExtenderGOGC,
		"extender replicas": "1",
		"extender TLS":      "off",
		"etcd fsync":        "off",
		"kube-scheduler":    "the shipped profile, with qps 1000 and burst 2000",
		"pods per second":   fmt.Sprintf("%d rounds of %d pods on %d nodes", s.throughputRounds, s.throughputPods, s.throughputNodes),
		"service times":     fmt.Sprintf("%d turns, each taken %d times at most", s.rounds, o.Attempts),
	}
}

type bench struct {
	Options
	scale scale
	dir   string
	out   Measured
}

// Run measures the selected parts. With an error it returns the results so far.
func Run(ctx context.Context, o Options) (Measured, []results.Phase, error) {
	dir, err := os.MkdirTemp("", "bench-extender-")
	if err != nil {
		return Measured{}, nil, err
	}
	defer os.RemoveAll(dir)
	if o.Quick {
		o.Attempts = 1
	}
	b := &bench{Options: o, scale: scaled(o.Quick), dir: dir}
	var phases []results.Phase
	for _, part := range []struct {
		name    string
		measure func(context.Context) error
	}{{"service", b.service}, {"linear", b.withControlPlane(b.linear)}, {"throughput", b.withControlPlane(b.throughput)}, {"start", b.withControlPlane(b.start)}} {
		if len(o.Only) > 0 && !slices.Contains(o.Only, part.name) {
			continue
		}
		start := time.Now()
		if err := part.measure(ctx); err != nil {
			return b.out, phases, fmt.Errorf("measuring %s: %w", part.name, err)
		}
		phases = append(phases, results.Phase{Name: part.name, Seconds: time.Since(start).Round(time.Second).Seconds()})
	}
	return b.out, phases, nil
}

// withControlPlane returns a function that starts a new control plane and calls measure with it.
func (b *bench) withControlPlane(measure func(context.Context, *plane) error) func(context.Context) error {
	return func(ctx context.Context) error {
		dir, err := os.MkdirTemp(b.dir, "plane-")
		if err != nil {
			return err
		}
		p, err := openPlane(ctx, b.Stock, dir)
		if p != nil {
			defer p.close()
		}
		if err != nil {
			return err
		}
		return measure(ctx, p)
	}
}

func (b *bench) say(format string, arguments ...any) {
	fmt.Fprintf(b.Out, "%s  "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, arguments...)...)
}
