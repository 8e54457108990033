package resize

import "github.com/trellis-gpu/trellis/growth"

const (
	// relativeDeadband is the fraction of a request below which a change is not made.
	relativeDeadband growth.Share = 0.03
	// absoluteDeadband is the amount below which a change is not made, at most poolDeadband of the pool.
	absoluteDeadband growth.MilliCPU = 5
	poolDeadband     growth.Share    = 0.01
)

// Change is a change of a job's CPU request.
type Change struct {
	// From is the request in force, To the decided one.
	From, To growth.MilliCPU
	// Distance is the sum of the changes of all containers. It exceeds |To − From| if another client has divided the
	// request differently among the containers.
	Distance growth.MilliCPU
	// Exact is set for a change that is made regardless of the deadband.
	Exact bool
}

// Deadband returns the smallest change of a request that is made.
func Deadband(from, pool growth.MilliCPU) growth.MilliCPU {
	return max(relativeDeadband.Of(from), min(absoluteDeadband, poolDeadband.Of(pool)))
}

// Select reports, for each change, whether to make it.
func Select(pool growth.MilliCPU, changes []Change) []bool {
	made := make([]bool, len(changes))
	sum := growth.MilliCPU(0)
	for i, c := range changes {
		made[i] = c.Distance > 0 && (c.Exact || c.Distance >= Deadband(c.From, pool))
		if made[i] {
			sum += c.To
		} else {
			sum += c.From
		}
	}
	for sum > pool {
		i := largestReduction(changes, made)
		if i < 0 {
			break
		}
		made[i] = true
		sum -= changes[i].From - changes[i].To
	}
	return made
}

// largestReduction returns the index of the largest reduction that is not made yet; -1 if there is none.
func largestReduction(changes []Change, made []bool) int {
	largest := -1
	for i, c := range changes {
		if made[i] || c.To >= c.From {
			continue
		}
		if largest < 0 || c.From-c.To > changes[largest].From-changes[largest].To {
			largest = i
		}
	}
	return largest
}
