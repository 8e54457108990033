package resize

import "github.com/trellis-gpu/trellis/growth"

const (
	// least is the part of a request below which a change is too little.
	relativeDeadband growth.Share = 0.03
	// slight is the change below which any is too little, of a pool that is not small: there it is a part of the pool.
	absoluteDeadband growth.MilliCPU = 5
	poolDeadband     growth.Share    = 0.01
)

// Change is one job's request as it stands and as it was decided.
type Change struct {
	From, To growth.MilliCPU
	// Distance is how far apart the two are, container by container: more than the difference of their sums if somebody
	// else has divided the request otherwise.
	Distance growth.MilliCPU
	// Exact says that the change is made however little it is.
	Exact bool
}

// Deadband is the change from which a request is resized.
func Deadband(from, pool growth.MilliCPU) growth.MilliCPU {
	return max(relativeDeadband.Of(from), min(absoluteDeadband, poolDeadband.Of(pool)))
}

// Select tells of each change whether it is made.
func Select(pool growth.MilliCPU, changes []Change) []bool {
	made, sum := make([]bool, len(changes)), growth.MilliCPU(0)
	for i, c := range changes {
		made[i] = c.Distance > 0 && (c.Exact || c.Distance >= Deadband(c.From, pool))
		if made[i] {
			sum += c.To
		} else {
			sum += c.From
		}
	}
	for sum > pool {
		at := largestReduction(changes, made)
		if at < 0 {
			break
		}
		made[at] = true
		sum -= changes[at].From - changes[at].To
	}
	return made
}

// furthest is the request that should fall most of those that would not; -1 if none would.
func largestReduction(changes []Change, made []bool) int {
	at := -1
	for i, c := range changes {
		if !made[i] && c.To < c.From && (at < 0 || c.From-c.To > changes[at].From-changes[at].To) {
			at = i
		}
	}
	return at
}
