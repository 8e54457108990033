package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// reported is a report of one process: its rank (−1: not named), its connection (0: it writes to the log), its step and
// its loss, which is 0 if it has none. after is the time since the previous report.
type reported struct {
	rank       int
	connection int64
	step       int64
	loss       float64
	after      time.Duration
	epoch      int64
}

func (r reported) event() node.Event {
	e := node.ProgressReported{Slot: "slot-a", Connection: r.connection, Source: gpushare.FromSocket}
	if r.connection == 0 {
		e = node.ProgressReported{Pod: ref("a").UID, Source: gpushare.FromLog}
	}
	e.Progress = wire.Progress{Step: r.step, Epoch: r.epoch, Steps: 1}
	if r.loss != 0 {
		e.Progress.Metrics = wire.Metrics{{Name: "loss", Value: r.loss}}
	}
	if r.rank >= 0 {
		e.Progress.Rank = &r.rank
	}
	return e
}

// many repeats a report of steps that follow each other.
func many(n int64, r reported) (all []reported) {
	for i := range n {
		all = append(all, r)
		all[i].step += i
	}
	return all
}

// curveCase has the reports of a job, and the step and the value of its curve afterwards.
type curveCase struct {
	reports  []reported
	step     int64
	loss     float64
	restarts int
}

func TestNode_RanksHaveOneCurve(t *testing.T) {
	const slow = 40 * time.Second
	testCurves(t, map[string]curveCase{
		"rank 1 is behind rank 0": {[]reported{
			{rank: 0, connection: 1, step: 10, loss: 2}, {rank: 1, connection: 2, step: 9, loss: 3},
			{rank: 0, connection: 1, step: 11, loss: 1.9}, {rank: 1, connection: 2, step: 10, loss: 3},
		}, 11, 1.9, 0},
		"rank 1 is before rank 0": {[]reported{
			{rank: 1, connection: 2, step: 10, loss: 3}, {rank: 0, connection: 1, step: 10, loss: 2},
			{rank: 1, connection: 2, step: 11, loss: 3}, {rank: 1, connection: 2, step: 12, loss: 3},
			{rank: 0, connection: 1, step: 11, loss: 1.9},
		}, 11, 1.9, 0},
		"rank 0 starts to report a step later": {[]reported{
			{rank: 1, connection: 2, step: 5, loss: 3}, {rank: 0, connection: 1, step: 4, loss: 2}, {rank: 0, connection: 1, step: 5, loss: 1.9},
		}, 5, 1.9, 0},
		"rank 1 is alone in its pod": {[]reported{
			{rank: 1, connection: 2, step: 5, loss: 3}, {rank: 1, connection: 2, step: 6, loss: 2},
		}, 6, 2, 0},
		"rank 0 returns to a checkpoint before the others": {[]reported{
			{rank: 0, connection: 1, step: 50, loss: 2}, {rank: 1, connection: 2, step: 50, loss: 3},
			{rank: 0, connection: 1, step: 40, loss: 2.1}, {rank: 1, connection: 2, step: 51, loss: 3},
		}, 40, 2.1, 1},
		"all ranks start again in new processes": {[]reported{
			{rank: 0, connection: 1, step: 50, loss: 2}, {rank: 1, connection: 2, step: 50, loss: 3}, {rank: -2, connection: 1}, {rank: -2, connection: 2},
			{rank: 1, connection: 4, step: 1, loss: 9}, {rank: 0, connection: 3, step: 1, loss: 8}, {rank: 1, connection: 4, step: 2, loss: 9},
		}, 1, 8, 1},
		"rank 0 dies and rank 1 goes on": {[]reported{
			{rank: 0, connection: 1, step: 50, loss: 2}, {rank: 1, connection: 2, step: 49, loss: 3}, {rank: -2, connection: 1},
			{rank: 1, connection: 2, step: 50, loss: 3}, {rank: 1, connection: 2, step: 51, loss: 2.9},
		}, 51, 2.9, 0},
		"rank 0 is silent and rank 1 goes on": {append([]reported{
			{rank: 0, connection: 1, step: 50, loss: 2}, {rank: 1, connection: 2, step: 50, loss: 3},
		}, many(4, reported{rank: 1, connection: 2, step: 51, loss: 3, after: slow})...), 54, 3, 0},
		"rank 0 evaluates for long while rank 1 waits": {[]reported{
			{rank: 0, connection: 1, step: 50, loss: 2}, {rank: 1, connection: 2, step: 50, loss: 3},
			{rank: 1, connection: 2, step: 51, loss: 3, after: 5 * slow}, {rank: 0, connection: 1, step: 51, loss: 1.9},
		}, 51, 1.9, 0},
		"rank 0 that leads again goes on": {append(append([]reported{
			{rank: 0, connection: 1, step: 50, loss: 2}, {rank: 1, connection: 2, step: 50, loss: 3},
		}, many(4, reported{rank: 1, connection: 2, step: 51, loss: 3, after: slow})...), many(6, reported{rank: 0, connection: 1, step: 51, loss: 1.5})...), 56, 1.5, 0},
		"rank 0 is the first to end": {[]reported{
			{rank: 0, connection: 1, step: 50, loss: 2}, {rank: 1, connection: 2, step: 48, loss: 3}, {rank: -2, connection: 1},
			{rank: 1, connection: 2, step: 49, loss: 3}, {rank: 1, connection: 2, step: 50, loss: 3},
		}, 50, 3, 0},
		"only the last rank knows the loss": {[]reported{
			{rank: 0, connection: 1, step: 10}, {rank: 1, connection: 2, step: 10, loss: 3},
			{rank: 0, connection: 1, step: 11}, {rank: 1, connection: 2, step: 11, loss: 2.5},
		}, 11, 2.5, 0},
		"steps are numbered per epoch": {[]reported{
			{rank: 0, connection: 1, step: 10, loss: 2}, {rank: 1, connection: 2, step: 9, loss: 3}, {rank: 0, connection: 1, epoch: 1, step: 1, loss: 1.9},
			{rank: 1, connection: 2, step: 10, loss: 3}, {rank: 0, connection: 1, epoch: 1, step: 2, loss: 1.8},
		}, 2, 1.8, 0},
	})
}

func TestNode_ProcessesWithoutARankHaveOneCurve(t *testing.T) {
	testCurves(t, map[string]curveCase{
		"processes without a rank": {[]reported{
			{rank: -1, connection: 1, step: 10, loss: 2}, {rank: -1, connection: 2, step: 9, loss: 3}, {rank: -1, connection: 2, step: 10, loss: 3},
			{rank: -1, connection: 2, step: 11, loss: 2.9}, {rank: -1, connection: 1, step: 11, loss: 1.9},
		}, 11, 2.9, 0},
		"all processes without a rank return to a checkpoint": {[]reported{
			{rank: -1, connection: 1, step: 50, loss: 2}, {rank: -1, connection: 2, step: 50, loss: 3},
			{rank: -1, connection: 1, step: 40, loss: 2.1}, {rank: -1, connection: 2, step: 40, loss: 3.1}, {rank: -1, connection: 1, step: 41, loss: 2},
		}, 41, 2, 1},
		"one process that starts again": {[]reported{
			{rank: -1, connection: 1, step: 50, loss: 2}, {rank: -2, connection: 1}, {rank: -1, connection: 2, step: 1, loss: 9},
		}, 1, 9, 1},
		"a process learns its rank late": {[]reported{
			{rank: -1, connection: 1, step: 1, loss: 2}, {rank: -1, connection: 2, step: 1, loss: 3},
			{rank: 1, connection: 2, step: 2, loss: 3}, {rank: 0, connection: 1, step: 2, loss: 1.9}, {rank: 1, connection: 2, step: 3, loss: 3},
		}, 2, 1.9, 0},
		"ranks in one log": {append(append(
			many(20, reported{rank: 0, step: 1, loss: 2}), many(20, reported{rank: 1, step: 1, loss: 3})...),
			many(20, reported{rank: 0, step: 21, loss: 1.5})...), 40, 1.5, 0},
		"ranks in one log without their numbers": {append(append(
			many(20, reported{rank: -1, step: 1, loss: 2}), many(20, reported{rank: -1, step: 1, loss: 3})...),
			many(20, reported{rank: -1, step: 21, loss: 1.5})...), 40, 1.5, 0},
		"a job that starts again in its log": {append(
			many(20, reported{rank: -1, step: 1, loss: 2}), many(5, reported{rank: -1, step: 1, loss: 3, after: 12 * time.Second})...), 5, 3, 1},
	})
}

func testCurves(t *testing.T, cases map[string]curveCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in(t, policy.FlowCon, func(t *testing.T, w *harness) {
				progress := gpushare.ProgressAnnotation + "=socket"
				if tc.reports[0].connection == 0 {
					progress = gpushare.ProgressAnnotation + "=log:([0-9.]+)"
				}
				w.arrive("a", gpushare.MetricAnnotation+"=loss:min", progress)
				for _, r := range tc.reports {
					w.pass(r.after)
					if r.rank == -2 {
						w.step(node.ProcessLeft{Slot: "slot-a", Connection: r.connection})
						continue
					}
					w.step(r.event())
				}
				w.pass(interval)
				require.Equal(t, tc.restarts, w.eventCount("JobRestarted"))
				require.Equal(t, tc.step, w.sample("a").Step)
				require.Equal(t, tc.loss, w.sample("a").Value)
			})
		})
	}
}
