package node

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/corun"
	"github.com/trellis-gpu/trellis/growth/interference"
)

const (
	// leastSteps is the number of steps from which a speed is measured.
	leastSteps = 5
	// leastAlone is the work, in GPU-seconds, from which the speed of a job alone is known.
	leastAlone = 0.02
	// leastTogether is the part of the time in which others must have computed too, leastOfSpan the part of that time from which a
	// combination of them is measured.
	leastTogether, leastOfSpan = 0.3, 0.1
)

// span is how a job has held its GPUs since its speed was last measured.
type span struct {
	steps    int64 // at the beginning
	alone    growth.Seconds
	together []Together
	other    growth.Seconds
}

// total returns all time in which the job has held.
func (s span) total() growth.Seconds {
	sum := s.alone + s.other
	for _, t := range s.together {
		sum += t.Held
	}
	return sum
}

func (s *span) add(r gpuReading) {
	s.alone += r.alone
	s.other += r.shared
	for _, t := range r.together {
		s.other -= t.Held
		s.addTogether(t)
	}
}

func (s *span) addTogether(t Together) {
	if t.Held <= 0 {
		return
	}
	i := slices.IndexFunc(s.together, func(u Together) bool { return slices.Equal(u.Others, t.Others) })
	if i < 0 {
		s.together = append(s.together, Together{Others: t.Others})
		i = len(s.together) - 1
	}
	s.together[i].Held += t.Held
}

// addSpan adds what a job has done since the last look. part is the part of that time up to its last report of steps.
func (t *gpuTime) addSpan(r gpuReading, part growth.Seconds) {
	if part > 0 {
		t.span.alone += t.late.alone
		t.span.other += t.late.other
		for _, set := range t.late.together {
			t.span.addTogether(set)
		}
		t.late = span{}
		t.span.add(r.times(part))
	}
	t.late.add(r.times(1 - part))
}

// times returns a part of a reading.
func (r gpuReading) times(part growth.Seconds) gpuReading {
	r.alone *= part
	r.shared *= part
	r.together = slices.Clone(r.together)
	for i := range r.together {
		r.together[i].Held *= part
	}
	return r
}

// togetherSince returns the time that each set has computed since the last reading.
func togetherSince(now, last []Together) (since []Together) {
	for _, t := range now {
		for _, before := range last {
			if slices.Equal(before.Others, t.Others) && before.Held <= t.Held {
				t.Held -= before.Held
			}
		}
		if t.Held > 0 {
			since = append(since, t)
		}
	}
	return since
}

// interferes returns the kind of a job. Without a known program, the job is a kind of its own, on this node only.
func (j *job) interferes() corun.Kind {
	lead := j.leader()
	if kind := lead.published(); kind != "" {
		return corun.Kind(kind)
	}
	return corun.Kind("pod " + lead.pod.Ref.UID)
}

// published returns the kind of a job for other processes.
func (j *job) published() interference.Kind {
	return interference.KindOf(j.pod.Ref.Namespace, j.program())
}

// kinds returns the kinds of jobs. ok is false if one of them has left.
func (n *Node) kinds(ids []growth.PodUID) (kinds []corun.Kind, ok bool) {
	for _, id := range ids {
		j := n.jobs[id]
		if j == nil {
			return nil, false
		}
		kinds = append(kinds, j.interferes())
	}
	return kinds, true
}

// clocked reports whether the speed of the job alone is known: it has made enough steps without others on its GPUs.
func (j *job) clocked() bool {
	return j.gpu.exact && j.gpu.cost.steps >= leastSteps && j.gpu.cost.used >= leastAlone
}

// measureSpeeds measures how fast jobs are while others compute too, from their steps since the last measurement.
func (n *Node) measureSpeeds() {
	if !n.dividesGPUs() {
		return
	}
	for _, j := range n.gpuJobs() {
		n.watchPhase(j)
		s := &j.gpu.span
		steps := j.leader().counter.steps
		perStep, _ := j.gpu.cost.perStep()
		if s.clean() && j.clocked() && perStep > 0 {
			if steps >= s.steps && steps-s.steps < leastSteps {
				continue // not enough steps yet
			}
			work := growth.Seconds(steps-s.steps)*growth.Seconds(perStep)/j.width() - s.alone
			n.addSpeeds(j, s.together, work)
		}
		*s = span{steps: steps}
	}
}

// addSpeeds adds what a job has done next to others, in one or several combinations of them: each time that one of them waits for
// data, the rest compute. How much of the work was done in which is not known: all predictions were too high or too low by the
// same factor.
func (n *Node) addSpeeds(j gpuJob, together []Together, work growth.Seconds) {
	speeds, others := make([]float64, len(together)), make([][]corun.Kind, len(together))
	var expected, all growth.Seconds
	for i, t := range together {
		kinds, present := n.kinds(t.Others)
		if !present {
			return
		}
		speed, known := n.speeds.Predict(j.interferes(), kinds)
		if !known {
			speed.Mean = 1 / float64(1+len(kinds)) // as if their steps never overlapped
		}
		speeds[i], others[i] = speed.Mean, kinds
		expected += t.Held * growth.Seconds(speed.Mean)
		all += t.Held
	}
	for i, t := range together {
		if t.Held >= leastOfSpan*all {
			n.speeds.Add(j.interferes(), others[i], speeds[i]*float64(work/expected), t.Held)
		}
	}
}

// clean reports whether the job has computed next to others that are known for an essential part of the time, and alone in the rest.
func (s span) clean() bool {
	var together growth.Seconds
	for _, t := range s.together {
		together += t.Held
	}
	total := s.total()
	return together > 0 && together >= leastTogether*total && total-s.alone-together <= sharedPart*total
}

// chargeTogether moves the time that a job has computed in sets of known speed out of the time that is charged by equal
// parts.
func (n *Node) chargeTogether(j gpuJob, r *gpuReading) {
	for _, t := range r.together {
		kinds, known := n.kinds(t.Others)
		if !known {
			continue
		}
		s, known := n.speeds.Predict(j.interferes(), kinds)
		if !known {
			continue
		}
		r.shared = max(0, r.shared-t.Held)
		r.set += t.Held
		r.setWork += t.Held * growth.Seconds(s.Mean)
		r.setTime += t.Held / growth.Seconds(len(t.Others)+1)
	}
}

// publishSpeeds publishes what was measured of jobs whose programs are known, the newest first.
func (n *Node) publishSpeeds() {
	if !n.dividesGPUs() || n.speedsPublished == n.speeds.Added {
		return
	}
	n.speedsPublished = n.speeds.Added
	n.out.Speeds = &bus.Speeds{Sets: n.measurements()}
}

func (n *Node) measurements() []interference.Measurement {
	sets := []interference.Measurement{}
	for _, set := range n.speeds.Sets() {
		m := interference.Measurement{Seconds: set[0].Speed.Seconds}
		for _, e := range set {
			m.Set = append(m.Set, interference.Member{
				Kind:      interference.Kind(e.Own),
				Activity:  n.activityOf(e.Own),
				Speed:     e.Speed.Mean,
				Deviation: e.Speed.Deviation,
			})
			m.Seconds = min(m.Seconds, e.Speed.Seconds)
		}
		valid := !slices.ContainsFunc(m.Set, func(of interference.Member) bool { return of.Kind == "" })
		if valid && m.Validate() == nil && len(sets) < bus.MaxSpeeds {
			sets = append(sets, m)
		}
	}
	return sets
}

// activityOf returns the fraction of a step in which a job of a kind uses its GPU; 0 if it is unknown, or no such job runs.
func (n *Node) activityOf(kind corun.Kind) growth.Share {
	for _, j := range n.sorted() {
		if j.interferes() == kind {
			return j.activity()
		}
	}
	return 0
}

// activity returns the fraction of a step in which the job does not wait for data; 0 if it is unknown.
func (j *job) activity() growth.Share {
	r := j.leader().rates
	return interference.ActivityOf(r.step, r.load)
}
