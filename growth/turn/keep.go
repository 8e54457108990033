package turn

import "time"

const (
	// smoothing is the weight of the newest pause in the mean of a job's pauses, and likewise for its times to stop. One of
	// them counts as at most outlier times the mean.
	smoothing, outlier = 0.25, 4
	// patience is how long the GPUs are kept for a pause, in mean pauses.
	patience = 2
)

// pausing is called when a job that holds begins to wait for data. It keeps the GPUs for the job if that is behind its
// share, and usually waits for a shorter time than the next job would then need to stop (anticipatory scheduling, Iyer and
// Druschel, SOSP 2001). Without this, a job that waits for a millisecond after each step would get one step of its GPU for
// one step of the others, with any share.
//
// The rotation of the turn itself makes jobs differ by up to Period. Only a job that is further behind loses time in its
// pauses; the others leave them to those that are ready. The others cannot use the kept time, so it is charged to the job, and
// counts like time held in its share of the time. It is no work: Use.Held does not have it.
func (s *Scheduler) pausing(j *job) {
	j.since = s.now
	if j.state != Holding || j.Always || s.open || j.pause == 0 || patience*j.pause > s.config.Keep {
		return
	}
	for _, next := range s.ready() {
		if j.conflicts(next) {
			if j.virtual+s.config.Period < next.virtual && j.pause < next.stops {
				j.keep = s.now.Add(patience * j.pause)
			}
			return
		}
	}
}

// resumed learns how long a job has paused.
func (s *Scheduler) resumed(j *job) {
	if !j.since.IsZero() {
		j.pause = learn(j.pause, s.now.Sub(j.since))
	}
	j.since, j.keep = time.Time{}, time.Time{}
}

// stopped learns how long a job took to stop.
func (s *Scheduler) stopped(j *job) {
	if j.state == Stopping {
		j.stops = learn(j.stops, s.now.Sub(j.asked))
	}
}

// keepFor charges time in which the GPUs were kept for a job.
func (j *job) keepFor(kept time.Duration) {
	j.use.Kept += kept
	j.age(kept)
}

// kept reports whether the GPUs of an idle job are kept for it.
func (j *job) kept(now time.Time) bool { return j.state == Idle && j.keep.After(now) }

func learn(mean, newest time.Duration) time.Duration {
	if mean == 0 {
		return newest
	}
	return mean + time.Duration(smoothing*float64(min(newest, outlier*mean)-mean))
}
