package elastic_test

import (
	"math"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/elastic"
)

// at are throughputs of a job at 1, 2, 3 … workers.
func at(rates ...growth.PerSecond) (measured []elastic.Measured) {
	for n, r := range rates {
		measured = append(measured, elastic.Measured{Workers: n + 1, Rate: r})
	}
	return measured
}

func TestRecommend(t *testing.T) {
	oneToFour := elastic.Range{Low: 1, High: 4}
	job := elastic.Job{Range: oneToFour, Workers: 1, Remaining: 3600, Cost: 60}
	with := func(change func(*elastic.Job)) elastic.Job { j := job; change(&j); return j }
	for name, tc := range map[string]struct {
		job    elastic.Job
		want   int // 0: the present number stays
		reason string
	}{
		"a job with much to do": {with(func(j *elastic.Job) { j.Measured = at(100, 190) }), 4,
			"1 → 4 workers: the job is expected to end 41m26s earlier (at least 39m15s), a restart of 1m0s included, by its throughput at several widths"},
		"nothing measured but the present width": {with(func(j *elastic.Job) { j.Measured = at(100) }), 2,
			"1 → 2 workers: the job is expected to end 24m32s earlier (at least 20m46s), a restart of 1m0s included, as jobs usually scale"},
		"a job that does not scale":        {with(func(j *elastic.Job) { j.Measured = at(100, 110, 115) }), 0, ""},
		"a job that is about to end":       {with(func(j *elastic.Job) { j.Remaining = 90 }), 0, ""},
		"an unknown end":                   {with(func(j *elastic.Job) { j.Remaining = 0 }), 0, ""},
		"a restart that costs more":        {with(func(j *elastic.Job) { j.Cost = 3000 }), 0, ""},
		"a gain below a tenth of the rest": {with(func(j *elastic.Job) { j.Remaining = 200 }), 0, ""},
		"the same, of what was recommended": {with(func(j *elastic.Job) { j.Remaining, j.Recommended = 200, 2 }), 2,
			"1 → 2 workers: the job is expected to end 25s earlier (at least 13s), a restart of 1m0s included, as jobs usually scale"},
		"what was recommended last": {with(func(j *elastic.Job) { j.Changes, j.Recommended = 2, 2 }), 2,
			"1 → 2 workers: the job is expected to end 24m32s earlier (at least 20m46s), a restart of 1m0s included, as jobs usually scale"},
		"another number than the last one": {with(func(j *elastic.Job) { j.Changes, j.Recommended = 2, 3 }), 0, ""},
		"two changes were recommended":     {with(func(j *elastic.Job) { j.Changes = 2 }), 0, ""},
		"as wide as it may be":             {with(func(j *elastic.Job) { j.Workers, j.Measured = 4, at(100, 198, 295) }), 0, ""},
		"workers that add little":          {with(func(j *elastic.Job) { j.Workers, j.Measured = 4, at(100, 110, 115, 117) }), 1, "4 → 1 workers: the job takes 28 % longer, and leaves 3 workers' GPUs to others, by its throughput at several widths"},
		"an invalid range":                 {with(func(j *elastic.Job) { j.Range = elastic.Range{Low: 3, High: 2} }), 0, ""},
		"false throughputs count for little": {with(func(j *elastic.Job) { j.Measured = at(100, growth.PerSecond(math.NaN()), -5, 1e300) }), 2,
			"1 → 2 workers: the job is expected to end 24m32s earlier (at least 20m46s), a restart of 1m0s included, as jobs usually scale"},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := elastic.Recommend(tc.job)
			require.Equal(t, tc.want != 0, ok)
			require.Equal(t, tc.want, r.Workers)
			require.Equal(t, tc.reason, r.Reason)
		})
	}
}

func TestRecommend_StaysInTheRange(t *testing.T) {
	require.NoError(t, quick.Check(func(low, more, workers uint8, rates []float64, remaining, cost float64) bool {
		j := elastic.Job{
			Range:     elastic.Range{Low: int(low%64) + 1, High: int(low%64) + 1 + int(more%8)},
			Workers:   int(workers % 70),
			Remaining: growth.Seconds(remaining),
			Cost:      growth.Seconds(cost),
		}
		for n, r := range rates {
			j.Measured = append(j.Measured, elastic.Measured{Workers: n - 1, Rate: growth.PerSecond(r)})
		}
		r, ok := elastic.Recommend(j)
		return !ok || r.Workers >= j.Range.Low && r.Workers <= j.Range.High && r.Workers != j.Workers
	}, &quick.Config{MaxCount: 20000}))
}
