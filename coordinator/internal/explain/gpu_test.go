package explain_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/turn"
)

func ref(name string) growth.PodRef {
	return growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID(name)}
}

func TestPrint_ShowsTheTurnsOfAGPU(t *testing.T) {
	e := node.Explanation{
		Pod:      growth.PodRef{Namespace: "ns", Name: "job", UID: "u"},
		Category: growth.Progressing,
		Share:    .5,
		Request:  500,
		GPU: &node.GPUExplanation{
			GPUs:        []growth.GPU{"GPU-0"},
			Share:       .8,
			Plain:       .5,
			Held:        40,
			Waited:      10,
			HeldShare:   .78,
			WaitedShare: .2,

			StepCost:  .05,
			Uncertain: true,
			NextTo: []node.NextTo{
				{Pod: ref("other"), Speed: corun.Speed{Mean: .52, Deviation: .03}, Source: node.MeasuredHere},
				{Pod: ref("third"), Speed: corun.Speed{Mean: .76, Deviation: .09}, Source: interference.FromPrior},
			},
			Turns: []node.TurnOf{
				{Pod: ref("job"), Share: .8, Held: 40, Waited: 10, HeldShare: .78},
				{Pod: ref("other"), Share: .1, Held: 6, Waited: 44, HeldShare: .11},
				{Pod: ref("third"), Share: .1, Held: 4, Waited: 46, HeldShare: .11},
				{Pod: ref("loads"), Share: .1},
				{Pod: ref("late"), Share: .1},
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
	e.GPU.Order([]turn.Status{
		{Job: "other", State: turn.Holding, Quantum: 100 * time.Millisecond, Left: 40 * time.Millisecond},
		{Job: "job", State: turn.Ready, Position: 1, Quantum: 800 * time.Millisecond, Behind: 150 * time.Millisecond},
		{Job: "third", State: turn.Ready, Position: 2, Quantum: 100 * time.Millisecond, Behind: -150 * time.Millisecond},
		{Job: "loads", State: turn.Idle},
		{Job: "unknown", State: turn.Ready},
		{Job: "late", State: turn.Overdue},
	})
	var out bytes.Buffer
	require.NoError(t, explain.Print(&out, e, explain.Table))
	require.Equal(t, `ns/job  Progressing  share 50%  CPU request 500m
GPU time of GPU-0: share 80% (50% with equal parts), computed 40 s, waited 10 s for its turn
in the last interval it computed 78% of the time and waited for its turn 20%
one step takes 0.05 GPU-seconds, measured while others computed too, so uncertain
next to ns/other it makes 52 % ± 3 % of its steps per second alone (measured on this node)
next to ns/third it makes 76 % ± 9 % of its steps per second alone (prior)

Order of the turns
TURN                     JOB       SHARE  COMPUTED  LATELY  WAITED  QUANTUM  AGAINST ITS SHARE
now, 0.04 s left         ns/other  10%    6 s       11%     44 s    0.10 s   even
next                     ns/job    80%    40 s      78%     10 s    0.80 s   0.15 s less
number 2                 ns/third  10%    4 s       11%     46 s    0.10 s   0.15 s more
needs no GPU now         ns/loads  10%    0 s       0%      0 s     –        –
has not stopped in time  ns/late   10%    0 s       0%      0 s     –        –

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

func TestPrint_SaysWhyAJobHasNoGPUTime(t *testing.T) {
	var out bytes.Buffer
	e := node.Explanation{Pod: ref("job"), Category: growth.Watching, WithoutGPU: "--gpu-time is off on this node"}
	require.NoError(t, explain.Print(&out, e, explain.Table))
	require.Contains(t, out.String(), "\nit has no part of the time of a GPU: --gpu-time is off on this node\n")
}

// The turns of a job on several GPUs name the GPUs of each job.
func TestPrint_NamesTheGPUsOfTurnsOnSeveral(t *testing.T) {
	var out bytes.Buffer
	e := node.Explanation{Pod: ref("wide"), GPU: &node.GPUExplanation{GPUs: []growth.GPU{"GPU-0", "GPU-1"}, Turns: []node.TurnOf{
		{Pod: ref("wide"), GPUs: []growth.GPU{"GPU-0", "GPU-1"}, Share: .5, Held: 5, State: turn.Stopping.String()},
		{Pod: ref("one"), GPUs: []growth.GPU{"GPU-1"}, Share: .5, Held: 5},
	}}}
	require.NoError(t, explain.Print(&out, e, explain.Table))
	require.Contains(t, out.String(), `
TURN                 JOB      GPUS          SHARE  COMPUTED  LATELY  WAITED  QUANTUM  AGAINST ITS SHARE
ends after its step  ns/wide  GPU-0, GPU-1  50%    5 s       0%      0 s     –        –
–                    ns/one   GPU-1         50%    5 s       0%      0 s     –        –
`)
}
