package deadlinesim

import "math"

// Delays compares the ends of jobs under one system with those of the same jobs under another system.
type Delays struct {
	// Harmed and HarmedFree are the parts of the jobs, with and without a deadline, that end more than 5 % later. Sooner is the
	// part of all jobs that end more than 5 % earlier.
	Harmed, HarmedFree, Sooner float64
	// Lost is the part of the deadlines that only the other system keeps, Won the part that only this one keeps.
	Lost, Won float64
	// Mean is the mean delay of the jobs that end more than 5 % later, Greatest the greatest delay of all, in seconds.
	Mean, Greatest float64
}

// delays compares two runs of the same jobs, all of which have ended.
func delays(ended, others []*running) (d Delays) {
	with, late, sooner := 0.0, 0.0, 0.0
	for i, r := range ended {
		other := others[i]
		delay := r.endedAt - other.endedAt
		took := other.endedAt - other.Arrival
		harmed := delay > harm*took
		count(&sooner, delay < -harm*took)
		d.Greatest = max(d.Greatest, delay)
		if harmed {
			late++
			d.Mean += delay
		}
		if math.IsInf(r.Deadline, 1) {
			count(&d.HarmedFree, harmed)
			continue
		}
		with++
		count(&d.Harmed, harmed)
		count(&d.Lost, r.endedAt > r.due() && other.endedAt <= r.due())
		count(&d.Won, r.endedAt <= r.due() && other.endedAt > r.due())
	}
	n := float64(len(ended))
	d.HarmedFree /= max(1, n-with)
	d.Harmed /= max(1, with)
	d.Lost /= max(1, with)
	d.Won /= max(1, with)
	d.Sooner = sooner / n
	d.Mean /= max(1, late)
	return d
}
