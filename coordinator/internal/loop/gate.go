package loop

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/duty"
)

// turns is how many duties one generation of advice may see. A job takes a config only if its generation is newer than
// the last, and duties change more often than advice: with GPU time on, a generation on the wire is the advice's times
// this, and a count; so it is for whoever has ever been told a duty, and, since what is tried may have to be taken back, a
// batch size.
const turns = 1 << 20

// gate divides the GPUs' time by the shares just decided, where that is on.
func (l *Loop) gate(jobs []*job) {
	if !l.config.GPUTime {
		return
	}
	in := make([]duty.Job, len(jobs))
	for i, j := range jobs {
		in[i] = duty.Job{Share: j.share, GPUs: l.gpus(j.pod.Ref.UID), Duty: j.duty}
	}
	for i, d := range duty.Decide(in) {
		j := jobs[i]
		if d == j.duty || (d == 1 && j.duty == 0) {
			continue
		}
		l.log.Info("GPU time", "job", j.pod.Ref.String(), "from", j.duty.String(), "to", d.String())
		j.duty = d
		l.again(j)
	}
}

// resumeDuty takes up the gate as an earlier coordinator left it: a job keeps to the last it was told. Where GPU time is
// not divided any more it is opened.
func (l *Loop) resumeDuty(j *job, left *growth.Share) {
	if left == nil {
		return
	}
	j.duty, j.turn = *left, j.turn+1
	if !l.config.GPUTime {
		j.duty = 1
	}
}

// generation is what a job's config is called on the wire.
func (l *Loop) generation(j *job) int64 {
	if !l.counts(j) {
		return j.advice.Generation
	}
	return j.advice.Generation*turns + j.turn
}

// advised is the advice's generation of one on the wire.
func (l *Loop) advised(j *job, generation int64) int64 {
	if !l.counts(j) {
		return generation
	}
	return generation / turns
}

// counts tells whether a job's generations on the wire have a count.
func (l *Loop) counts(j *job) bool { return l.config.GPUTime || j.duty != 0 || j.trial.To != 0 }

// again delivers what a job is to run with as something new.
func (l *Loop) again(j *job) {
	j.turn = (j.turn + 1) % turns
	l.deliver(j)
}
