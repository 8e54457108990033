package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestWidth_IsRecommendedOnceForEachNumber(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		w.arrive("wide", gpushare.ElasticAnnotation+"=1-4")
		w.arrive("narrow")
		advise := func(workers int) {
			for _, name := range []string{"wide", "narrow"} {
				w.advice[ref(name).UID] = bus.Advice{Width: &bus.Width{
					Recommendation: elastic.Recommendation{Workers: workers, Reason: "1 → 2 workers"},
				}}
			}
			w.step(node.AdviceChanged{Advice: w.advice})
			w.pass(time.Hour)
		}
		advise(2)
		require.Equal(t, &elastic.Range{Low: 1, High: 4}, w.sample("wide").Elastic)
		require.Nil(t, w.sample("narrow").Elastic)
		require.Equal(t, []string{"wide WorkersRecommended: 1 → 2 workers. Save a checkpoint before you change the number of workers of the pod's owner"},
			w.eventsOf("WorkersRecommended"))
		advise(3)
		require.Len(t, w.eventsOf("WorkersRecommended"), 2)
	})
}

func TestWidth_ThatTrellisChangesNeedsNoAction(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		w.arrive("wide", gpushare.ElasticAnnotation+"=1-4", gpushare.TuneAnnotation+"=workers")
		w.advice[ref("wide").UID] = bus.Advice{Width: &bus.Width{
			Recommendation: elastic.Recommendation{Workers: 2, Reason: "1 → 2 workers"},
		}}
		w.step(node.AdviceChanged{Advice: w.advice})
		w.pass(time.Minute)
		require.Equal(t, []string{"wide WorkersRecommended: 1 → 2 workers"}, w.eventsOf("WorkersRecommended"))
	})
}
