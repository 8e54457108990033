package turn

import "time"

const (
	// smoothing is the weight of the newest pause in the mean of a job's pauses, and likewise for its times to stop. One of
	// them counts as at most outlier times the mean.
	smoothing, outlier = 0.25, 4
	// patience is how long the GPUs are kept for a pause, in mean pauses.
	patience = 2
	// shortPause is the length of a pause, relative to the time that the job held before it, up to which the GPUs are kept.
	shortPause = 0.25
	// maxSlowdown is the factor by which a job may be slowed down by waiting for steps of others in its pauses. Plain sharing with one
	// other job does that.
	maxSlowdown = 2
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
	if j.state != Holding || j.Always || s.open {
		return
	}
	j.run = learn(j.run, s.now.Sub(j.granted))
	if j.pause == 0 || patience*j.pause > s.config.Keep {
		return
	}
	for _, next := range s.ready() {
		if j.conflicts(next) {
			if j.virtual+s.config.Period < next.virtual && j.worthKeeping(next) {
				j.keep = s.now.Add(patience * j.pause)
			}
			return
		}
	}
}

// worthKeeping reports whether the GPUs should rather be idle in the pauses of the job than serve the next one.
//
// Let the steps of n jobs compute for c and pause for p. If the GPUs are kept for one after the other, the mean one ends after
// (n+1)/2 (c+p) per step, and the last one after n (c+p). If two at a time compute in the pauses of one another, the mean one ends after (n+2)/2 c, and
// the last one after n c. Long pauses are therefore left to others, unless the steps of the next job are so long that the job would make
// fewer steps than under plain sharing. Short ones are not: the turn changes twice for each of them, and the job that should end first ends
// later.
func (j *job) worthKeeping(next *job) bool {
	if j.pause >= next.stops {
		return false
	}
	short := float64(j.pause) <= shortPause*float64(j.run)
	return short || j.run+next.stops > maxSlowdown*(j.run+j.pause)
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
