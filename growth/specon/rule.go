package specon

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// Rule moves a job if that pays.
type Rule struct {
	// Factor is how many times its cost a move must gain.
	Factor float64
	// Harm bounds by how much a job of the target ends later, as a fraction of its time since arrival.
	Harm float64
	// MaxMoves bounds the moves of a job.
	MaxMoves int
	// Dwell is the time for which a job stays on a node.
	Dwell time.Duration
	// InFlight bounds the moves at the same time.
	InFlight int
	// Pairs bounds the nodes that are considered as a source, and as a target: the most and the least loaded ones.
	Pairs int
}

// DefaultRule returns the shipped rule.
func DefaultRule() Rule {
	return Rule{Factor: 3, Harm: 0.02, MaxMoves: maxMoves, Dwell: time.Minute, InFlight: 2, Pairs: 8}
}

// Choose returns the moves that pay most, next to inFlight others. The jobs of moves in flight are not among the nodes' jobs at
// their source, but at their target.
func (r Rule) Choose(nodes []Node, now time.Time, fits Fits, inFlight int) (moves []Move) {
	if inFlight >= r.InFlight {
		return nil
	}
	nodes = clone(nodes)
	forecasts := make([]forecast, len(nodes))
	for i, n := range nodes {
		forecasts[i] = expect(n, n.Jobs)
	}
	for inFlight+len(moves) < r.InFlight {
		best, ok := r.best(forecasts, now, fits)
		if !ok {
			return moves
		}
		r.account(nodes, best, now)
		moves = append(moves, relocate(nodes, best))
		for i, n := range nodes {
			if n.Name == best.From || n.Name == best.To {
				forecasts[i] = expect(n, n.Jobs)
			}
		}
	}
	return moves
}

// moment is a difference of times that does not matter, in seconds: it lets rounding not decide.
const moment = 1e-3

// best returns the move with the largest gain. Of equal ones it takes the job that the node lists first.
func (r Rule) best(forecasts []forecast, now time.Time, fits Fits) (best Move, ok bool) {
	forecasts = slices.Clone(forecasts)
	slices.SortStableFunc(forecasts, func(a, b forecast) int {
		return cmp.Or(cmp.Compare(a.empty, b.empty), cmp.Compare(a.node.Name, b.node.Name))
	})
	targets := forecasts[:min(r.Pairs, len(forecasts))]
	for i := len(forecasts) - 1; i >= max(0, len(forecasts)-r.Pairs); i-- {
		from := forecasts[i]
		for _, job := range from.node.Jobs {
			if !r.movable(job, now) {
				continue
			}
			rest := expect(from.node, without(from.node.Jobs, job.ID))
			for _, to := range targets {
				if to.node.Name == from.node.Name || !fits(job, to.node) {
					continue
				}
				if m, pays := r.move(from, rest, to, job, now); pays && (!ok || m.Gain > best.Gain+moment) {
					best, ok = m, true
				}
			}
		}
	}
	return best, ok
}

// move returns the move of a job, and whether it pays. What images cost is asked last, since it may be slow to find out.
func (r Rule) move(from, rest, to forecast, job Job, now time.Time) (m Move, pays bool) {
	m = Move{Job: job.ID, From: from.node.Name, To: to.node.Name, Reason: Faster, Cost: job.Cost}
	if m.Gain, m.Delay, pays = r.gain(from, rest, to, job, now); !pays || job.Pull == nil {
		return m, pays
	}
	job.Cost += job.Pull(to.node.Name)
	m.Cost = job.Cost
	m.Gain, m.Delay, pays = r.gain(from, rest, to, job, now)
	return m, pays
}

// movable reports whether a job may move at all.
func (r Rule) movable(j Job, now time.Time) bool {
	return j.Fixed == "" && j.moves() < r.MaxMoves && fairfinish.Sized(j.Remaining) && now.Sub(j.Placed) >= r.Dwell
}

// gain returns by how many seconds all jobs of both nodes end earlier if a job moves, the longest delay of a job of the target,
// and whether the move pays. rest is the source without the job.
func (r Rule) gain(from, rest, to forecast, job Job, now time.Time) (gain, delay growth.Seconds, pays bool) {
	with := expect(to.node, append(slices.Clone(to.node.Jobs), job))
	own := from.ends[job.ID] - with.ends[job.ID] - job.Cost
	gain = own
	for id, end := range rest.ends {
		gain += from.ends[id] - end
	}
	for _, j := range to.node.Jobs {
		later := with.ends[j.ID] - to.ends[j.ID]
		gain -= later
		delay = max(delay, later)
		whole := growth.Seconds(now.Sub(j.Arrived).Seconds()) + to.ends[j.ID]
		if fairfinish.Sized(j.Remaining) && float64(j.Delayed+later) > r.Harm*float64(whole) {
			return 0, 0, false
		}
	}
	return gain, delay, own > 0 && float64(gain) > r.Factor*float64(job.Cost)
}

// account adds the delays that a move causes to the jobs of its target.
func (r Rule) account(nodes []Node, m Move, now time.Time) {
	to, from := at(nodes, m.To), at(nodes, m.From)
	i := slices.IndexFunc(from.Jobs, func(j Job) bool { return j.ID == m.Job })
	before, after := expect(*to, to.Jobs), expect(*to, append(slices.Clone(to.Jobs), from.Jobs[i]))
	for k := range to.Jobs {
		to.Jobs[k].Delayed += after.ends[to.Jobs[k].ID] - before.ends[to.Jobs[k].ID]
	}
	from.Jobs[i].Placed = now
}

// forecast has the ends of the jobs of a node under fair sharing, from now. A job of unknown size has none.
type forecast struct {
	node Node
	ends map[growth.PodUID]growth.Seconds
	// empty is the last of the ends.
	empty growth.Seconds
}

func expect(n Node, jobs []Job) forecast {
	all := make([]fairfinish.Job, len(jobs))
	for i, j := range jobs {
		all[i] = fairfinish.Job{ID: j.ID, Remaining: j.Remaining, Limit: j.Limit, Overlap: j.Overlap}
		if n.GPU != "" {
			all[i].On = []growth.GPU{n.GPU}
		}
	}
	o := forecast{node: n, ends: make(map[growth.PodUID]growth.Seconds, len(jobs))}
	for i, end := range fairfinish.ExpectFair(fairfinish.Config{Cores: n.CPU, Unit: n.unit()}, all) {
		if end.Known {
			o.ends[jobs[i].ID] = end.Likely
			o.empty = max(o.empty, end.Likely)
		}
	}
	return o
}

func without(jobs []Job, id growth.PodUID) []Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool { return j.ID == id })
}
