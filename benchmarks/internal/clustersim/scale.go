package clustersim

// Scale returns a cluster of the size that Trellis is made for. Its jobs arrive within two minutes, so that most of them run at the same
// time.
func Scale() Schedule {
	return Schedule{Name: "scale", Workers: 1000, GPUs: 8, Jobs: 10_000, Window: 120}
}

// Divided returns the schedule with a part of the workers and of the jobs, and the same load on each worker.
func (s Schedule) Divided(by int) Schedule {
	s.Workers /= by
	s.Jobs /= by
	return s
}

// Counts are what a run has computed. They do not depend on the machine, unlike the time that it takes.
type Counts struct {
	// Events are the times at which something happened in the cluster, Decisions those of all nodes.
	Events    int `json:"events"`
	Decisions int `json:"decisions"`
	// Scores are the workers that were scored for a new job, Views the times at which the whole cluster was looked at to choose moves.
	Scores int `json:"scores"`
	Views  int `json:"views"`
	// Steps are the intervals between events that workers have lived through. One is an addition for each job of the worker.
	Steps int `json:"steps"`
}

// Large is a run of a large cluster under Trellis.
type Large struct {
	Schedule Schedule `json:"schedule"`
	// Completion is the mean time from arrival to end; both are in seconds of virtual time.
	Completion float64 `json:"completionSeconds"`
	Makespan   float64 `json:"makespanSeconds"`
	Moves      int     `json:"moves"`
	Counts     Counts  `json:"counts"`
}

// RunLarge runs a schedule once, with placement, shares and moves as they ship.
func RunLarge(s Schedule, seed uint64) Large {
	c := newCluster(s, shipped(), seed)
	is := c.run(s.draw(seed))
	l := Large{Schedule: s, Makespan: is.makespan, Counts: c.counts}
	for i, end := range is.ends {
		l.Completion += end / float64(s.Jobs)
		l.Moves += is.moves[i]
	}
	return l
}
