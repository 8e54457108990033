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
		u.Memory = plus(u.Memory, p.Memory)
		u.Busy = plus(u.Busy, p.Busy)
		uses[key] = u
	}
	sorted := make([]Use, 0, len(uses))
	for _, u := range uses {
		sorted = append(sorted, u)
	}
	slices.SortFunc(sorted, func(a, b Use) int { return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.GPU, b.GPU)) })
	return sorted
}

// plus adds, where what is not known makes the sum unknown.
func plus[T ~int | ~int64](a, b T) T {
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
	WarnAfter, AgainAfter time.Duration
	// EvictAfter is how long it must be over before it is evicted; 0 never evicts.
	EvictAfter time.Duration
}

// Excess is a pod over its request, and what is to be done now.
type Excess struct {
	Use
	Asked growth.MiB
	Warn  bool
	Evict bool
}

// Judge remembers since when who is over. It is not safe for concurrent use.
type Judge struct {
	Config
	over map[Key]*episode
}

type episode struct{ since, warned, evicted time.Time }

// Judged compares uses with what was asked for. A pod that asked for nothing on a GPU is over with all it uses there;
// one whose use is not known stays as it was.
func (j *Judge) Judged(now time.Time, uses []Use, asked map[Key]growth.MiB) []Excess {
	was := j.over
	j.over = map[Key]*episode{}
	var excess []Excess
	for _, u := range uses {
		e, before := was[u.Key]
		if u.Memory < 0 && before {
			j.over[u.Key] = e
		}
		if u.Memory < 0 || u.Memory <= asked[u.Key]+j.Slack {
			continue
		}
		if !before {
			e = &episode{since: now}
		}
		j.over[u.Key] = e
		excess = append(excess, j.act(now, e, Excess{Use: u, Asked: asked[u.Key]}))
	}
	return excess
}

func (j *Judge) act(now time.Time, e *episode, x Excess) Excess {
	long := now.Sub(e.since)
	if long >= j.WarnAfter && (e.warned.IsZero() || now.Sub(e.warned) >= j.AgainAfter) {
		x.Warn = true
		e.warned = now
	}
	if j.EvictAfter > 0 && long >= j.EvictAfter && (e.evicted.IsZero() || now.Sub(e.evicted) >= j.AgainAfter) {
		x.Evict = true
		e.evicted = now
	}
	return x
}
