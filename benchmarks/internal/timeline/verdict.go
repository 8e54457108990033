package timeline

import "time"

// Seen counts the changes that Trellis made to one kind of job.
type Seen struct {
	Kind string
	// Shares counts changes of CPU requests, GPUShares of parts of the time of GPUs.
	Shares, GPUShares, Loaders, Categories int
}

// Of returns the count of one aspect; zero for aspects that are not counted.
func (s Seen) Of(what Aspect) int {
	switch what {
	case ShareChange:
		return s.Shares
	case GPUShareChange:
		return s.GPUShares
	case LoaderChange:
		return s.Loaders
	case CategoryChange:
		return s.Categories
	}
	return 0
}

// Count adds up the changes of the jobs of one kind.
func (t *Timeline) Count(kind string) Seen {
	seen := Seen{Kind: kind}
	for _, c := range t.Changes {
		if c.Kind != kind {
			continue
		}
		switch c.What {
		case ShareChange:
			seen.Shares++
		case GPUShareChange:
			seen.GPUShares++
		case LoaderChange:
			seen.Loaders++
		case CategoryChange:
			seen.Categories++
		}
	}
	return seen
}

// Difference compares one job's completion under two policies.
type Difference struct {
	Job, Kind         string
	Completion, Other time.Duration
}

// Known reports whether the job ended in both runs.
func (d Difference) Known() bool { return d.Completion > 0 && d.Other > 0 }

// Relative is the change relative to the other run: −0.1 is 10 % sooner, +0.1 is 10 % later.
func (d Difference) Relative() float64 {
	if !d.Known() {
		return 0
	}
	return float64(d.Completion)/float64(d.Other) - 1
}

// Against compares every job's completion with that in another run, and the means over the jobs that ended in both.
func (t *Timeline) Against(other *Timeline) (jobs []Difference, mean Difference) {
	mean.Job = "mean"
	both := time.Duration(0)
	for _, job := range t.Last().Jobs {
		d := Difference{Job: job.Name, Kind: job.Kind}
		if job.State == Finished {
			d.Completion = job.Completion()
		}
		if same, ok := other.Last().Job(job.Name); ok && same.State == Finished {
			d.Other = same.Completion()
		}
		jobs = append(jobs, d)
		if d.Known() {
			mean.Completion += d.Completion
			mean.Other += d.Other
			both++
		}
	}
	if both > 0 {
		mean.Completion /= both
		mean.Other /= both
	}
	return jobs, mean
}

// Makespan is the time from the first submission to the last job's end.
func (t *Timeline) Makespan() time.Duration {
	var first, last time.Time
	for _, job := range t.Last().Jobs {
		if first.IsZero() || (!job.Submitted.IsZero() && job.Submitted.Before(first)) {
			first = job.Submitted
		}
		if job.Ended.After(last) {
			last = job.Ended
		}
	}
	if first.IsZero() || last.IsZero() {
		return 0
	}
	return last.Sub(first)
}
