package deadlinesim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
)

// period is the resolution of the background load, in seconds. The trace has a sample of a machine in 100 s.
const period = 120.0

// maxGap is the longest time between two samples that the load is replayed for. The published file has gaps of days, in which
// nothing was measured.
const maxGap = 15 * period

// traced is the part of the recorded load that other programs cause. The machines also ran the jobs of Qore-DL's experiments when
// they were recorded, and these are jobs of the workload here.
const traced = 0.5

// load is a fraction of a machine's capacity.
type load struct{ cpu, memory float64 }

// Trace is the recorded load of machines, by period, without gaps.
type Trace map[string][]load

// NewTrace sorts samples by machine and time. Samples of the same time are averaged, loads above 1 are 1.
func NewTrace(samples []qoredl.Utilisation) (Trace, error) {
	byMachine := map[string][]qoredl.Utilisation{}
	for _, s := range samples {
		byMachine[s.Machine] = append(byMachine[s.Machine], s)
	}
	trace := Trace{}
	for _, m := range machines {
		periods := replay(byMachine[m.name])
		if len(periods) == 0 {
			return nil, fmt.Errorf("the trace has no load of machine %s", m.name)
		}
		trace[m.name] = periods
	}
	return trace, nil
}

// replay returns the load of each period until the last sample.
func replay(samples []qoredl.Utilisation) []load {
	slices.SortStableFunc(samples, func(a, b qoredl.Utilisation) int { return cmp.Compare(a.At, b.At) })
	var periods []load
	rest := 0.0 // of the last period
	for i := 0; i < len(samples); {
		next, sum := i, load{}
		for ; next < len(samples) && samples[next].At == samples[i].At; next++ {
			sum.cpu += min(samples[next].CPU, 1)
			sum.memory += min(samples[next].Memory, 1)
		}
		mean := load{traced * sum.cpu / float64(next-i), traced * sum.memory / float64(next-i)}
		lasts := period
		if next < len(samples) {
			lasts = min(float64(samples[next].At-samples[i].At), maxGap)
		}
		for rest += lasts; rest >= period; rest -= period {
			periods = append(periods, mean)
		}
		i = next
	}
	return periods
}

// mean returns the mean load of a machine.
func (t Trace) mean(machine string) load {
	var sum load
	for _, l := range t[machine] {
		sum.cpu += l.cpu
		sum.memory += l.memory
	}
	n := float64(len(t[machine]))
	return load{sum.cpu / n, sum.memory / n}
}

// background is the load that other programs put on the hosts.
type background struct {
	layout Layout
	trace  Trace
	offset []int // periods, by host
	means  []load
}

func newBackground(l Layout, t Trace, seed uint64) background {
	b := background{layout: l, trace: t}
	dice := rand.New(rand.NewPCG(seed, 3))
	for _, name := range l.Traced {
		b.offset = append(b.offset, dice.IntN(len(t[name])))
		b.means = append(b.means, t.mean(name))
	}
	return b
}

// at returns the load of a host at a time.
func (b background) at(host int, now float64) load {
	periods := b.trace[b.layout.Traced[host]]
	return periods[(b.offset[host]+int(now/period))%len(periods)]
}

// free returns the mean of the cores that the background leaves.
func (b background) free() float64 {
	sum := 0.0
	for i, h := range b.layout.Hosts {
		sum += h.Cores * (1 - b.means[i].cpu)
	}
	return sum
}
