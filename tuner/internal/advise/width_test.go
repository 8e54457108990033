package advise_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

func TestDecide_RecommendsWorkers(t *testing.T) {
	a := advise.Adviser{Policy: loader.DefaultChangePolicy(), Resources: memory(1024)}
	s := oneCore(job("a", .9, 0, func(j *history.Job) {
		j.Sample.Elastic = &elastic.Range{Low: 1, High: 4}
		j.Sample.SamplesPerSecond = 100
		j.Sample.Tunable = []string{"cpu"}
		j.Sample.ETA = &bus.ETA{ETA: gpushare.ETA{Likely: start.Add(2 * time.Hour)}}
	}))
	changes := a.Decide(s, start)
	require.Len(t, changes, 1)
	width := changes[0].Advice.Width
	require.Equal(t, 2, width.Workers)
	require.Equal(t, 1, width.Changes)
	require.Contains(t, width.Reason, "1 → 2 workers: the job is expected to end")

	s.Jobs[0].Advice = changes[0].Advice
	require.Empty(t, a.Decide(s, start.Add(2*time.Minute)), "the same number again")
	s.Jobs[0].Advice.Width.Changes = elastic.MaxChanges
	s.Jobs[0].Advice.Width.Workers = 1
	require.Empty(t, a.Decide(s, start.Add(4*time.Minute)), "too many changes")
}
