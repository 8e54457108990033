package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestNewcomers_GetWhatThePolicyGivesAJobOfUnknownSize(t *testing.T) {
	for name, tc := range map[string]struct {
		policy policy.Name
		jobs   [][]string // annotations
		want   growth.Share
	}{
		"next to one job":             {policy.Harmless, [][]string{nil}, 1. / 2},
		"next to two":                 {policy.Harmless, [][]string{nil, nil}, 1. / 3},
		"next to one of priority":     {policy.Harmless, [][]string{{gpushare.PriorityAnnotation + "=3"}}, 1. / 4},
		"fair, which has no priority": {policy.Fair, [][]string{{gpushare.PriorityAnnotation + "=3"}}, 1. / 2},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, tc.policy, func(t *testing.T, w *harness) {
				w.pass(interval)
				require.Nil(t, w.newcomers, "the jobs are no clients of MPS")
				w.step(node.InventoryChanged{MPS: true})
				w.pass(interval)
				require.NotNil(t, w.newcomers)
				require.Empty(t, w.newcomers, "a job would be alone on any GPU")
				for n, annotations := range tc.jobs {
					w.arrive(string(rune('a'+n)), annotations...)
				}
				w.pass(time.Minute)
				require.Len(t, w.newcomers, 1)
				require.InDelta(t, float64(tc.want), float64(w.newcomers["GPU-1"]), 1e-9)
			})
		})
	}
}
