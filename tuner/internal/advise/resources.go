package advise

import (
	"fmt"
	"maps"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/peaks"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/resources"
)

// Resources recommends what a job should request, and knows how jobs scale.
type Resources interface {
	// Loaded reports whether what was learned before this term of leadership is known. Nothing is recommended before.
	Loaded() bool
	Recommend(s bus.Sample, now time.Time) peaks.Recommendation
	// Widths returns the throughputs of a job at several numbers of workers.
	Widths(s bus.Sample, pods resources.Pods) []elastic.Measured
}

// recommendPeriod is the least time between two recommendations for a job, except the first one and those for a job that uses more.
const recommendPeriod = time.Minute

// recommendResources adds what jobs should request to their advice, where that differs noticeably from their present advice.
func (a *Adviser) recommendResources(s *history.Snapshot, changes []Change, now time.Time) []Change {
	if a.Resources == nil || !a.Resources.Loaded() {
		return changes
	}
	next := map[growth.PodUID]time.Time{}
	pods, capacities := resources.PodsOf(s), cpuCapacities(s)
	for _, j := range s.Jobs {
		if j.Sample == nil || s.Undecodable[bus.AdviceKey(j.UID)] != nil {
			continue
		}
		at, known := a.recommended[j.UID]
		present := recommended(j.Advice)
		more := exceeds(*j.Sample, present)
		due := !known || more || now.Sub(at) >= recommendPeriod
		if due {
			r := a.Resources.Recommend(*j.Sample, now).WithCPUOf(capacities[j.Sample.Node])
			at = now
			if r.DiffersFrom(present) || r.StepDiffersFrom(present) || more && !exceeds(*j.Sample, r) {
				changes = recommend(changes, j, r)
			}
		}
		if due || a.newEnd(j, now) {
			changes = a.recommendWidth(changes, j, pods, now)
		}
		next[j.UID] = at
	}
	a.recommended = next
	maps.DeleteFunc(a.widths, func(uid growth.PodUID, _ bus.Width) bool { return next[uid].IsZero() })
	maps.DeleteFunc(a.ends, func(uid growth.PodUID, _ bool) bool { return next[uid].IsZero() })
	return changes
}

// cpuCapacities returns the CPU of nodes, as far as it is known.
func cpuCapacities(s *history.Snapshot) map[growth.NodeName]growth.MilliCPU {
	capacities := map[growth.NodeName]growth.MilliCPU{}
	for _, n := range s.Nodes {
		if n.Load != nil {
			capacities[n.Name] = n.Load.CPUCapacity
		}
	}
	return capacities
}

// exceeds reports whether a job uses more than is recommended to request: any more memory, or noticeably more CPU.
func exceeds(s bus.Sample, r peaks.Recommendation) bool {
	if s.Profile == nil {
		return false
	}
	peak := s.Profile.Peak()
	return r.Memory != nil && int64(peak.Memory) > r.Memory.Request ||
		r.CPU != nil && int64(peak.CPU) > r.CPU.Request && peaks.CPUDiffers(growth.MilliCPU(r.CPU.Request), peak.CPU)
}

// recommended returns what a job is recommended at present.
func recommended(advice *bus.Advice) peaks.Recommendation {
	if advice == nil || advice.Resources == nil {
		return peaks.Recommendation{}
	}
	return *advice.Resources
}

// recommend adds resources to the advice of a job.
func recommend(changes []Change, j history.Job, r peaks.Recommendation) []Change {
	changes, at := adviceOf(changes, j)
	changes[at].Advice.Resources = &r
	return changes
}

// resourcesText describes the requests for the log.
func resourcesText(a *bus.Advice) string {
	if a.Resources == nil {
		return ""
	}
	text := ""
	add := func(name string, r *peaks.Request, unit string) {
		if r != nil {
			text += fmt.Sprintf(" %s %d%s", name, r.Request, unit)
		}
	}
	add("CPU", a.Resources.CPU, "m")
	add("memory", a.Resources.Memory, "MiB")
	add("GPU memory", a.Resources.GPUMemory, "MiB")
	return text
}
