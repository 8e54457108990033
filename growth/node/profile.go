package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/peaks"
)

// profile is what a job uses at most, and what it says about itself. Package peaks predicts from it.
type profile struct {
	use     peaks.Profile
	model   peaks.Model
	at      time.Time // of the last reading
	started bool      // use begins with the job's first step
	// reported is what an event has recommended; nil if none has.
	reported *peaks.Recommendation
}

func (e JobDescribed) apply(n *Node) {
	j := n.jobOf(e.Slot)
	if j == nil {
		return
	}
	m := peaks.Model{FLOPs: e.Describe.FLOPs, Params: e.Describe.Params}
	if e.Describe.BatchSize != nil {
		m.BatchSize = *e.Describe.BatchSize
	}
	if m = m.Valid(); m != j.profile.model {
		j.profile.model = m
		n.publish(j, true)
	}
}

// observeUse adds the use of the last interval to the job's profile. The time before the first step is one block: a job that
// starts is no example for its later use.
func (n *Node) observeUse(j *job) {
	p := &j.profile
	since := growth.Seconds(n.config.Interval.Seconds())
	if !p.at.IsZero() {
		since = growth.Seconds(n.now.Sub(p.at).Seconds())
	}
	p.at = n.now
	if !p.started && j.counter.steps > 0 {
		peak := p.use.Peak()
		p.started, p.use = true, peaks.Profile{}.Add(peak, since)
	}
	use := n.gpuMemoryUse(j)
	use.CPU, use.Memory = j.used, j.usage.Memory
	p.use = p.use.Add(use, since)
}

// gpuMemory returns the most memory that the processes have reserved on each of some GPUs, if they are spread evenly.
func (s *settings) gpuMemory(gpus int) (most growth.MiB) {
	sum := growth.MiB(0)
	for _, m := range s.all {
		sum += m.gpuMemory
		most = max(most, m.gpuMemory)
	}
	return max(most, sum/growth.MiB(max(gpus, 1)))
}
