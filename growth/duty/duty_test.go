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

// settled calls Decide until nothing changes. It returns the duties and the number of rounds.
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

func TestDecide_ConvergesTo(t *testing.T) {
	for name, tc := range map[string]struct {
		jobs []duty.Job
		want []float64
	}{
		"a single job":                            {[]duty.Job{on(.1, "a")}, []float64{1}},
		"each job has its own GPU":                {[]duty.Job{on(.9, "a"), on(.1, "b")}, []float64{1, 1}},
		"equal shares":                            {[]duty.Job{on(.5, "a"), on(.5, "a")}, []float64{1, 1}},
		"a third of the other share":              {[]duty.Job{on(.75, "a"), on(.25, "a")}, []float64{1, 1. / 3}},
		"a tiny share gets the minimum":           {[]duty.Job{on(.999, "a"), on(.001, "a")}, []float64{1, .05}},
		"a job on two GPUs gets the smaller duty": {[]duty.Job{on(.6, "a"), on(.3, "a", "b"), on(.1, "b")}, []float64{1, .5, 1. / 3}},
		"jobs without a GPU are not gated":        {[]duty.Job{on(.9), on(.1)}, []float64{1, 1}},
		"no shares yet":                           {[]duty.Job{on(0, "a"), on(0, "a")}, []float64{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := settled(tc.jobs)
			for i := range got {
				require.InDelta(t, tc.want[i], float64(got[i]), float64(duty.MinChange), "job %d of %v", i, got)
			}
		})
	}
}

func TestDecide_ChangesDutiesGradually(t *testing.T) {
	jobs := []duty.Job{on(.8, "a"), on(.2, "a")}
	require.Equal(t, []growth.Share{1, .625}, duty.Decide(jobs), "half of the way from 1 to 0.25")
	jobs[1].Duty = .26
	require.Equal(t, growth.Share(.26), duty.Decide(jobs)[1], "a small change is not made")
	jobs[0].Share, jobs[1].Duty = .2, .97
	require.Equal(t, growth.Share(1), duty.Decide(jobs)[1], "a duty close to 1 becomes 1")
	jobs[1].Duty = .1
	require.Equal(t, growth.Share(1), duty.Decide(jobs)[1], "a duty rises at once")
}

// For any shares: each GPU has a job that is not gated, no duty is below the minimum, and duties converge.
func TestDecide_HoldsItsInvariants(t *testing.T) {
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
