package batchsize

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/goodput"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// The job's pod and its slot. gpuMemory is in GiB, more than a job here uses.
const (
	slot      = "slot"
	gpuMemory = "64"
)

var pod = growth.PodRef{Namespace: "bench", Name: "job", UID: "job"}

// driver is a node with one job, and what the tuner does with the job's sample.
type driver struct {
	node   *node.Node
	advice bus.Advice
	sample bus.Sample
	// config is what the job has to apply; nil if nothing is new.
	config *wire.Config
	// rolledBack counts trials that were taken back.
	rolledBack int
}

// newDriver returns a driver whose job has just started.
func newDriver(now time.Time, interval time.Duration) *driver {
	d := &driver{node: node.New(node.Config{
		Policy:    policy.Harmless,
		Objective: fairfinish.Balanced,
		Interval:  interval,
		Alpha:     .05,
		Beta:      2,
		Damping:   node.KubeletDamping(interval),
	})}
	d.step(now, node.CapacityChanged{CPU: 2 * growth.Core})
	d.step(now, node.AllocationsChanged{Synced: true, Allocations: []bus.Allocation{{Pod: pod, Containers: []bus.ContainerAllocation{{
		Name: "train", Slot: slot, GPUs: []growth.GPUShare{{GPU: "GPU-1", Memory: 1024}},
	}}}}})
	d.step(now, node.PodUpdated{Pod: node.Pod{
		Ref:     pod,
		Running: true,
		Annotations: map[string]string{
			gpushare.MemoryAnnotation: gpuMemory,
			gpushare.TuneAnnotation:   string(gpushare.TuneBatchSize),
		},
		Containers: []node.Container{{Name: "train", Request: growth.Core}},
	}})
	return d
}

// step steps the node and keeps what the job has to apply.
func (d *driver) step(now time.Time, e node.Event) {
	effects := d.node.Step(now, e)
	for _, c := range effects.Configs {
		d.config = &c.Config
	}
	for _, event := range effects.Events {
		if event.Reason == "BatchSizeRolledBack" {
			d.rolledBack++
		}
	}
	if len(effects.Open) > 0 {
		d.step(now, node.SlotsOpened{Slots: effects.Open})
	}
}

// take returns the config that was not sent yet, as sent; nil if there is none.
func (d *driver) take(now time.Time) *wire.Config {
	config := d.config
	d.config = nil
	if config != nil {
		d.step(now, node.ConfigSent{Slot: slot, Generation: config.Generation})
	}
	return config
}

// report adds a message of the job.
func (d *driver) report(now time.Time, m wire.Message) {
	switch m := m.(type) {
	case wire.Progress:
		d.step(now, node.ProgressReported{Slot: slot, Connection: 1, Source: gpushare.FromSocket, Progress: m})
	case wire.Ack:
		d.step(now, node.ConfigAcked{Slot: slot, Connection: 1, Ack: m})
	}
}

// tick ends an interval and advises a size.
func (d *driver) tick(now time.Time, memory growth.MiB) {
	d.step(now, node.Ticked{Usages: map[growth.PodUID]node.Usage{pod.UID: {Memory: memory}}})
	if s, ok, err := d.node.Sample(pod.UID); ok && err == nil {
		d.sample = s
	}
	if size, better := d.choose(); better {
		d.advice = bus.Advice{Generation: d.advice.Generation + 1, BatchSize: &size}
		d.step(now, node.AdviceChanged{Advice: map[growth.PodUID]bus.Advice{pod.UID: d.advice}})
	}
}

// choose returns a better size than the present one, as the tuner does for a job that is alone on its GPU.
func (d *driver) choose() (size int, better bool) {
	known, present := d.sample.Batch, d.sample.BatchSize
	if known == nil || present == nil || d.undecided() {
		return 0, false
	}
	options := known.Options(*present)
	if len(options) == 0 {
		return 0, false
	}
	chosen := goodput.Together([]goodput.Job{{Options: options}}, nil)[0]
	return chosen.Batch, chosen.Batch != *present
}

// undecided reports whether the job still has to try the size of its advice, or to go back from it.
func (d *driver) undecided() bool {
	if d.advice.BatchSize == nil || *d.advice.BatchSize == *d.sample.BatchSize {
		return false
	}
	advised, known := *d.advice.BatchSize, d.sample.Batch
	return (known.RejectedFrom == 0 || advised < known.RejectedFrom) && (known.RejectedUpTo == 0 || advised > known.RejectedUpTo)
}

// points is the number of sizes that were measured.
func (d *driver) points() int {
	if d.sample.Batch == nil {
		return 0
	}
	return len(d.sample.Batch.Points)
}
