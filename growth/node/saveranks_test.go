package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// connect lets two processes of a job report.
func (w *harness) connect(name string, who func(rank int) wire.Process) {
	for rank := range 2 {
		w.step(node.ProcessReported{Slot: "slot-" + name, Connection: int64(rank + 1), Reports: []wire.Progress{{Step: 40, Process: who(rank)}}})
	}
}

func ofTwo(rank int) wire.Process { return wire.Process{Rank: &rank, WorldSize: 2} }

func unnamed(int) wire.Process { return wire.Process{} }

// Each rank saves a file of its own. What one of them saves by itself meanwhile does not end the request before the others have saved.
func TestNode_ARankThatSavesByItselfDoesNotAnswerForTheOthers(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.arrive("a")
		w.connect("a", ofTwo)
		w.annotatePod("a", gpushare.SaveAnnotation, "x")
		for rank := range 2 {
			w.step(node.ProcessStopped{Slot: "slot-a", Connection: int64(rank + 1), Stopped: wire.Stopped{
				Sequence: w.stopped["slot-a"].Sequence, Step: 42, Stopped: true, Process: ofTwo(rank),
			}})
		}
		saved := wire.Saved{Path: "/part", SHA256: digest, Step: 42, Process: ofTwo(0)}
		w.step(node.CheckpointSaved{Slot: "slot-a", Connection: 1, Saved: saved})
		require.Empty(t, w.annotated["a"][gpushare.SavedAnnotation])
		require.True(t, w.stopped["slot-a"].Stop, "rank 1 still saves")
		for rank := range 2 {
			require.Empty(t, w.annotated["a"][gpushare.SavedAnnotation])
			saved.Request, saved.Process = w.saves["slot-a"].Request, ofTwo(rank)
			w.step(node.CheckpointSaved{Slot: "slot-a", Connection: int64(rank + 1), Saved: saved})
		}
		require.Contains(t, w.annotated["a"][gpushare.SavedAnnotation], "x step=42")
	})
}

// Processes that do not name their ranks may be ranks: they stop before they save.
func TestNode_ProcessesWithoutRanksSaveAfterTheSameStep(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.arrive("a")
		w.connect("a", unnamed)
		w.annotatePod("a", gpushare.SaveAnnotation, "x")
		require.Empty(t, w.saves)
		require.Equal(t, int64(42), w.stopped["slot-a"].AfterStep)
		for connection := range int64(2) {
			w.step(node.ProcessStopped{Slot: "slot-a", Connection: connection + 1, Stopped: wire.Stopped{
				Sequence: w.stopped["slot-a"].Sequence, Step: 42, Stopped: true,
			}})
		}
		require.NotEmpty(t, w.saves)
	})
}

// Shims of the previous release know neither ranks nor stops, and do not number their answers.
func TestNode_ProcessesOfThePreviousReleaseSaveWithoutAStop(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.arrive("a")
		w.connect("a", unnamed)
		w.annotatePod("a", gpushare.SaveAnnotation, "x")
		w.pass(3 * interval)
		require.NotEmpty(t, w.saves)
		w.step(node.CheckpointSaved{Slot: "slot-a", Connection: 1, Saved: wire.Saved{Path: "/ckpt/a.pt", SHA256: digest, Step: 60}})
		require.Contains(t, w.annotated["a"][gpushare.SavedAnnotation], "x step=60")
	})
}

// Both ranks of a job stop after the same step, save, and continue.
func TestNode_RanksSaveAfterTheSameStep(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.arrive("a")
		w.connect("a", ofTwo)
		w.annotatePod("a", gpushare.SaveAnnotation, "now")
		require.Empty(t, w.saves, "they must stop first")
		order := w.stopped["slot-a"]
		require.Equal(t, int64(42), order.AfterStep)
		for rank := range 2 {
			require.Empty(t, w.saves)
			w.step(node.ProcessStopped{Slot: "slot-a", Connection: int64(rank + 1), Stopped: wire.Stopped{
				Sequence: order.Sequence, Step: 42, Stopped: true, Process: wire.Process{Rank: &rank, WorldSize: 2},
			}})
		}
		request := w.saves["slot-a"].Request
		require.Positive(t, request)
		one := 1
		w.step(node.CheckpointFailed{Slot: "slot-a", Connection: 2, Failed: wire.Failed{Request: request, Nothing: true, Process: wire.Process{Rank: &one}}})
		require.True(t, w.stopped["slot-a"].Stop, "rank 0 still saves")
		zero := 0
		w.step(node.CheckpointSaved{Slot: "slot-a", Connection: 1, Saved: wire.Saved{
			Path: "/ckpt/a.pt", SHA256: digest, Step: 42, Request: request, Process: wire.Process{Rank: &zero},
		}})
		require.Equal(t, 1, w.eventCount("a Saved: The job saved a checkpoint of step 42"))
		require.False(t, w.stopped["slot-a"].Stop, "they continue")
		require.Zero(t, w.eventCount("Paused"))
	})
}
