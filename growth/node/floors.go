package node

// withFloors divides total in proportion to weights, but gives each at least its floor. If that is more than there is, it divides in
// proportion to the larger of weight and floor.
func withFloors(weights, floors []float64, total float64) []float64 {
	parts, fixed := make([]float64, len(weights)), make([]bool, len(weights))
	for {
		left, sum := total, 0.0
		for i := range weights {
			if fixed[i] {
				left -= floors[i]
			} else {
				sum += weights[i]
			}
		}
		if left <= 0 || sum <= 0 {
			return inProportion(weights, floors, total)
		}
		changed := false
		for i := range weights {
			parts[i] = floors[i]
			if !fixed[i] {
				parts[i] = left * weights[i] / sum
				fixed[i] = parts[i] < floors[i]
				changed = changed || fixed[i]
			}
		}
		if !changed {
			return parts
		}
	}
}

func inProportion(weights, floors []float64, total float64) []float64 {
	sum := 0.0
	for i := range weights {
		sum += max(weights[i], floors[i])
	}
	parts := make([]float64, len(weights))
	for i := range weights {
		parts[i] = total / float64(len(weights))
		if sum > 0 {
			parts[i] = total * max(weights[i], floors[i]) / sum
		}
	}
	return parts
}
