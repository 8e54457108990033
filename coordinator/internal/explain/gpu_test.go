package explain_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

func TestPrint_ShowsTheTurnsOfAGPU(t *testing.T) {
	e := node.Explanation{
		Pod:      growth.PodRef{Namespace: "ns", Name: "job", UID: "u"},
		Category: growth.Progressing,
		Share:    .5,
		Request:  500,
		GPU: &node.GPUExplanation{
			GPUs:      []growth.GPU{"GPU-0"},
			Share:     .8,
			Plain:     .5,
			Held:      40,
			Waited:    10,
			StepCost:  .05,
			Uncertain: true,
			Turns: []node.TurnOf{
				{Pod: growth.PodRef{Namespace: "ns", Name: "job"}, Share: .8, Held: 40},
				{Pod: growth.PodRef{Namespace: "ns", Name: "other"}, Share: .2, Held: 10},
			},
			Decisions: node.DecisionLog{{
				At:      time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
				Policy:  "harmless",
				Because: "interval",
				From:    .5,
				To:      .8,
				Reason:  "8 GPU-seconds to its target",
				Inputs: node.Inputs{
					Unit:      growth.GPUSecond,
					Category:  growth.Progressing,
					Used:      500,
					Remaining: remaining.Estimate{Low: 18, Likely: 20, High: 25, Known: true, Unit: growth.GPUSecond},
				},
			}},
		},
	}
	var out bytes.Buffer
	require.NoError(t, explain.Print(&out, e, explain.Table))
	require.Equal(t, `ns/job  Progressing  share 50%  CPU request 500m
GPU time of GPU-0: share 80% (50% with equal parts), computed 40 s, waited 10 s for its turn
one step takes 0.05 GPU-seconds, measured while others computed too, so uncertain
turns: ns/job 80% (40 s so far), ns/other 20% (10 s so far)

GPU time
TIME      BECAUSE   STEP  VALUE  GROWTH  CATEGORY     USED  LIMIT  LEFT              NEED  DUE  SHARE      REASON                                 OUTCOME
12:00:00  interval  0     0      –       Progressing  500m  –      20 GPU-s (18–25)  –     –    50% → 80%  harmless: 8 GPU-seconds to its target  –
CPU: no decision has been made about it yet
`, out.String())

	e.GPU.Turns, e.GPU.NotDivided = nil, "no other job uses its GPUs"
	out.Reset()
	require.NoError(t, explain.Print(&out, e, explain.Table))
	require.Contains(t, out.String(), "it is not paused: no other job uses its GPUs\n")
}
