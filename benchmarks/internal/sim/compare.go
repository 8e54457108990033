package sim

import "math"

// Mean is a mean over seeds, with its 95 % interval.
type Mean struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Cell compares one policy on one machine with fair sharing of the same jobs. All figures but Makespan are in per
// cent; negative is sooner.
type Cell struct {
	Machine Machine `json:"machine"`
	// Errors bounds the relative error of declared sizes.
	Errors float64 `json:"errors"`
	Policy string  `json:"policy"`
	// Completion is the change of the mean time from arrival to end. Good is the change of the mean time to 95 % of
	// the metric's improvement.
	Completion Mean `json:"completion"`
	Good       Mean `json:"good"`
	// Worst and Best are the changes of the most delayed and the most accelerated job of each seed.
	Worst Mean `json:"worst"`
	Best  Mean `json:"best"`
	// Harmed is the fraction of all jobs that end more than 5 % later.
	Harmed Mean `json:"harmed"`
	// Makespan is the time of the last end, relative to that under fair sharing.
	Makespan Mean `json:"makespan"`
	// Latest is the greatest delay of any job of any seed, in seconds.
	Latest float64 `json:"latestSeconds"`
}

// harm is the relative delay from which a job counts as harmed.
const harm = 0.05

// comparison is one seed of a cell.
type comparison struct {
	completion, good, worst, best, harmed, makespan, latest float64
}

func compare(fair, other []Outcome, fairSpan, otherSpan float64) comparison {
	c := comparison{worst: math.Inf(-1), best: math.Inf(1), makespan: otherSpan / fairSpan, latest: math.Inf(-1)}
	var was, is Outcome
	for i := range fair {
		was.End, was.Good = was.End+fair[i].End, was.Good+fair[i].Good
		is.End, is.Good = is.End+other[i].End, is.Good+other[i].Good
		change := other[i].End/fair[i].End - 1
		c.worst, c.best = max(c.worst, 100*change), min(c.best, 100*change)
		c.latest = max(c.latest, other[i].End-fair[i].End)
		if change > harm {
			c.harmed += 100 / float64(len(fair))
		}
	}
	c.completion, c.good = 100*(is.End/was.End-1), 100*(is.Good/was.Good-1)
	return c
}

// cell computes the means over seeds.
func cell(all []comparison) Cell {
	c := Cell{Latest: math.Inf(-1)}
	for _, figure := range []struct {
		to *Mean
		of func(comparison) float64
	}{
		{&c.Completion, func(c comparison) float64 { return c.completion }},
		{&c.Good, func(c comparison) float64 { return c.good }},
		{&c.Worst, func(c comparison) float64 { return c.worst }},
		{&c.Best, func(c comparison) float64 { return c.best }},
		{&c.Harmed, func(c comparison) float64 { return c.harmed }},
		{&c.Makespan, func(c comparison) float64 { return c.makespan }},
	} {
		*figure.to = mean(all, figure.of)
	}
	for _, one := range all {
		c.Latest = max(c.Latest, one.latest)
	}
	return c
}

func mean(all []comparison, of func(comparison) float64) Mean {
	values := make([]float64, len(all))
	for i, c := range all {
		values[i] = of(c)
	}
	return meanOf(values)
}

func meanOf(values []float64) Mean {
	n, sum, squares := float64(len(values)), 0.0, 0.0
	for _, v := range values {
		sum += v
	}
	for _, v := range values {
		squares += (v - sum/n) * (v - sum/n)
	}
	half := 1.96 * math.Sqrt(squares/max(n-1, 1)/n)
	return Mean{Value: sum / n, Low: sum/n - half, High: sum/n + half}
}
