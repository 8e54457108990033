package duty_test

import (
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/duty"
)

func on(share float64, gpus ...growth.GPU) duty.Job {
	return duty.Job{Share: growth.Share(share), GPUs: gpus}
}

// settled decides until nothing moves, and counts how often that was.
func settled(jobs []duty.Job) (duties []growth.Share, rounds int) {
	for duties = duty.Decide(jobs); ; rounds++ {
		for i := range jobs {
			jobs[i].Duty = duties[i]
		}
		next := duty.Decide(jobs)
		same := true
		for i := range next {
			same = same && next[i] == duties[i]
		}
		if same || rounds > 100 {
			return duties, rounds
		}
		duties = next
	}
}

func TestDecide(t *testing.T) {
	for name, tc := range map[string]struct {
		jobs []duty.Job
		want []float64
	}{
		"alone":                               {[]duty.Job{on(.1, "a")}, []float64{1}},
		"alone each on its own":               {[]duty.Job{on(.9, "a"), on(.1, "b")}, []float64{1, 1}},
		"equal":                               {[]duty.Job{on(.5, "a"), on(.5, "a")}, []float64{1, 1}},
		"a third of the other":                {[]duty.Job{on(.75, "a"), on(.25, "a")}, []float64{1, 1. / 3}},
		"never to a standstill":               {[]duty.Job{on(.999, "a"), on(.001, "a")}, []float64{1, .05}},
		"on two GPUs the least of them":       {[]duty.Job{on(.6, "a"), on(.3, "a", "b"), on(.1, "b")}, []float64{1, .5, 1. / 3}},
		"without a GPU there is none to gate": {[]duty.Job{on(.9), on(.1)}, []float64{1, 1}},
		"no shares yet":                       {[]duty.Job{on(0, "a"), on(0, "a")}, []float64{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := settled(tc.jobs)
			for i := range got {
				require.InDelta(t, tc.want[i], float64(got[i]), float64(duty.MinChange), "job %d of %v", i, got)
			}
		})
	}
}

func TestGatesMoveSmoothly(t *testing.T) {
	jobs := []duty.Job{on(.8, "a"), on(.2, "a")}
	require.Equal(t, []growth.Share{1, .625}, duty.Decide(jobs), "half of the way from open to a quarter")
	jobs[1].Duty = .26
	require.Equal(t, growth.Share(.26), duty.Decide(jobs)[1], "a little is left alone")
	jobs[0].Share, jobs[1].Duty = .2, .97
	require.Equal(t, growth.Share(1), duty.Decide(jobs)[1], "what hardly holds is opened")
	jobs[1].Duty = .1
	require.Equal(t, growth.Share(1), duty.Decide(jobs)[1], "and so is what need not hold any more, at once")
}

// Any shares on any GPUs: somebody on each GPU computes all the time but for jobs that wait elsewhere, nobody stands
// still, and it comes to rest.
func TestAlways(t *testing.T) {
	holds := func(shares []uint8, places []uint8) bool {
		var jobs []duty.Job
		for i := range min(len(shares), len(places)) {
			jobs = append(jobs, on(float64(shares[i])/255, growth.GPU([]string{"a", "b", "c"}[places[i]%3])))
		}
		duties, rounds := settled(jobs)
		open := map[growth.GPU]bool{}
		for i, j := range jobs {
			if duties[i] < duty.Min || duties[i] > 1 {
				return false
			}
			open[j.GPUs[0]] = open[j.GPUs[0]] || duties[i] == 1
		}
		for _, o := range open {
			if !o {
				return false
			}
		}
		return rounds <= 10
	}
	require.NoError(t, quick.Check(holds, &quick.Config{MaxCount: 2000}))
}
