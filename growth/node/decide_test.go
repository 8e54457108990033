package node_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestDecide_ReplacesADepartedJobByANewOne(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		w.arrive("a")
		w.arrive("b")
		w.train(0, 7, map[string]func(int) float64{"a": falling, "b": flat})
		w.remove("b")
		w.arrive("c")
		w.pass(time.Second)
		require.Equal(t, map[string]growth.MilliCPU{"a": 500, "c": 500}, w.requests())
	})
}

// An arrival shifts the decisions against the ticks.
func TestDecide_IsMadeWithinAnInterval(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.arrive("first")
		w.pass(2*interval + interval/3)
		w.arrive("second")
		for range 60 {
			w.pass(time.Second)
			require.LessOrEqual(t, w.now.Sub(w.decided("first").At), interval+time.Second)
		}
	})
}

func TestDecide_FairKeepsEqualRequests(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		w.arrive("young")
		w.arrive("old")
		w.train(0, 9, map[string]func(int) float64{"young": falling, "old": flat})
		require.Empty(t, w.resized)
		require.Equal(t, growth.Converged, w.sample("old").Category, "jobs are classified under every policy")
	})
}

func TestDecide_LiteralHasItsOwnCategories(t *testing.T) {
	in(t, policy.FlowConLiteral, func(t *testing.T, w *harness) {
		w.arrive("young")
		w.arrive("old")
		w.train(0, 5, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, growth.Converged, w.sample("old").Category)
		require.Equal(t, growth.Progressing, w.sample("young").Category)
		require.Less(t, w.requests()["old"], w.requests()["young"])
	})
}

func TestDecide_KeepsRequestsOfUntunableJobs(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		w.arrive("young")
		w.arrive("old")
		w.arrive("private", gpushare.TuneAnnotation+"=loaders")
		fixed := node.Pod{Ref: ref("fixed"), Running: true, Fixed: "its QoS class is Guaranteed", Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
			Containers: []node.Container{{Name: "train", Request: 500}}}
		w.apply(fixed)
		w.apply(fixed)
		w.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat, "private": flat})
		require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250, "private": 500, "fixed": 500}, w.requests())
		require.Equal(t, growth.Converged, w.sample("private").Category, "the job is observed")
		require.Equal(t, []string{"loaders"}, w.sample("private").Tunable)
		require.Equal(t, 1, w.eventCount("fixed CPUNotTuned"))
	})
}

func TestArrive_RecordsAnEventForAnInvalidAnnotation(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		w.arrive("bad", gpushare.ProgressAnnotation+"=log:[")
		w.arrive("bad", gpushare.ProgressAnnotation+"=log:[")
		w.arrive("good")
		w.pass(interval)
		require.Equal(t, 1, w.eventCount("bad BadAnnotation: annotation gpushare/progress"))
		require.Zero(t, w.sample("bad"))
		require.NotZero(t, w.sample("good"))
	})
}

func TestLoad_LoaderBudgetExcludesTrainingProcesses(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		for jobs, budget := range []int{2, 1, 0, 0} {
			w.pass(6 * time.Second)
			require.Equal(t, budget, w.load.LoaderBudget, "%d jobs on two cores", jobs)
			w.arrive(fmt.Sprint(jobs))
		}
	})
}
