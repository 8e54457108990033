package usage

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

// Key is a pod on a GPU.
type Key struct {
	Pod growth.PodUID
	GPU growth.GPU
}

// Use is what a pod uses of one GPU. Memory and Busy are -1 where the driver does not say.
type Use struct {
	Key
	Memory    growth.MiB
	Busy      int
	Processes int
}

// Sum adds processes up by pod and GPU. Processes of no pod are left out.
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

// addKnown adds, where what is not known makes the sum unknown.
func addKnown[T ~int | ~int64](a, b T) T {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// Config is when a pod that is over its request is told, and when it has to go.
type Config struct {
	// Slack is granted on top of the request.
	Slack growth.MiB
	// WarnAfter is how long a pod must be over before it is told, and AgainAfter before it is told again.
	WarnAfter, WarnInterval time.Duration
	// EvictAfter is how long it must be over before it is evicted; 0 never evicts.
	EvictAfter time.Duration
}

// Excess is a pod over its request, and what is to be done now.
type Excess struct {
	Use
	Requested growth.MiB
	Warn      bool
	Evict     bool
}

// ExcessDetector remembers since when who is over. It is not safe for concurrent use.
type ExcessDetector struct {
	Config
	states map[Key]*excessState
}

type excessState struct{ since, warned, evicted time.Time }

// Detect compares uses with what was asked for. A pod that asked for nothing on a GPU is over with all it uses there;
// one whose use is not known stays as it was.
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
		excess = append(excess, j.update(now, e, Excess{Use: u, Requested: requested[u.Key]}))
	}
	return excess
}

func (j *ExcessDetector) update(now time.Time, e *excessState, x Excess) Excess {
	duration := now.Sub(e.since)
	if duration >= j.WarnAfter && (e.warned.IsZero() || now.Sub(e.warned) >= j.WarnInterval) {
		x.Warn = true
		e.warned = now
	}
	if j.EvictAfter > 0 && duration >= j.EvictAfter && (e.evicted.IsZero() || now.Sub(e.evicted) >= j.WarnInterval) {
		x.Evict = true
		e.evicted = now
	}
	return x
}
