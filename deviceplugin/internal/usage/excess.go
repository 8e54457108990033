package usage

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

// Key identifies a pod on a GPU.
type Key struct {
	Pod growth.PodUID
	GPU growth.GPU
}

// Use is a pod's use of one GPU. Memory and Busy are -1 if unknown.
type Use struct {
	Key
	Memory    growth.MiB
	Busy      int
	Processes int
}

// Sum adds up the processes of each pod and GPU. It ignores processes outside pods.
func Sum(processes []gpu.Process, podOf func(pid int) (growth.PodUID, bool)) []Use {
	uses := map[Key]Use{}
	for _, p := range processes {
		uid, ok := podOf(p.PID)
		if !ok {
			continue
		}
		key := Key{Pod: uid, GPU: p.Device}
		u, seen := uses[key]
		if !seen {
			u = Use{Key: key}
		}
		u.Processes++
		u.Memory = addKnown(u.Memory, p.Memory)
		u.Busy = addKnown(u.Busy, p.Busy)
		uses[key] = u
	}
	sorted := make([]Use, 0, len(uses))
	for _, u := range uses {
		sorted = append(sorted, u)
	}
	slices.SortFunc(sorted, func(a, b Use) int { return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.GPU, b.GPU)) })
	return sorted
}

// addKnown adds two values. The sum is unknown if either value is.
func addKnown[T ~int | ~int64](a, b T) T {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// Config configures an ExcessDetector.
type Config struct {
	// Slack is added to the request.
	Slack growth.MiB
	// WarnAfter is the time over the request before the first warning. WarnInterval is the time between warnings.
	WarnAfter, WarnInterval time.Duration
	// EvictAfter is the time over the request before the eviction; 0 never evicts.
	EvictAfter time.Duration
}

// Excess is a pod over its request, with the action to take now.
type Excess struct {
	Use
	Requested growth.MiB
	Warn      bool
	Evict     bool
}

// ExcessDetector tracks since when pods exceed their requests. It is not safe for concurrent use.
type ExcessDetector struct {
	Config
	states map[Key]*excessState
}

type excessState struct{ since, warned, evicted time.Time }

// Detect compares uses with requests and returns the pods over their request. A pod without a request on a GPU
// exceeds it with any use. A pod whose use is unknown keeps its state. Actions that succeed are recorded by Warned and Evicted.
func (j *ExcessDetector) Detect(now time.Time, uses []Use, requested map[Key]growth.MiB) []Excess {
	previous := j.states
	j.states = map[Key]*excessState{}
	var excess []Excess
	for _, u := range uses {
		e, known := previous[u.Key]
		if u.Memory < 0 && known {
			j.states[u.Key] = e
		}
		if u.Memory < 0 || u.Memory <= requested[u.Key]+j.Slack {
			continue
		}
		if !known {
			e = &excessState{since: now}
		}
		j.states[u.Key] = e
		excess = append(excess, j.due(now, e, Excess{Use: u, Requested: requested[u.Key]}))
	}
	return excess
}

// due adds the actions that are due. An action stays due until it has been recorded, so that one that fails is repeated.
func (j *ExcessDetector) due(now time.Time, e *excessState, x Excess) Excess {
	duration := now.Sub(e.since)
	x.Warn = duration >= j.WarnAfter && (e.warned.IsZero() || now.Sub(e.warned) >= j.WarnInterval)
	x.Evict = j.EvictAfter > 0 && duration >= j.EvictAfter && (e.evicted.IsZero() || now.Sub(e.evicted) >= j.WarnInterval)
	return x
}

// Warned records that the warning about a pod of the last Detect has succeeded.
func (j *ExcessDetector) Warned(now time.Time, k Key) {
	if e, known := j.states[k]; known {
		e.warned = now
	}
}

// Evicted records that the eviction of a pod of the last Detect has succeeded.
func (j *ExcessDetector) Evicted(now time.Time, k Key) {
	if e, known := j.states[k]; known {
		e.evicted = now
	}
}
