package history_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/programs"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

func put[T any, R bus.Record[T]](t *testing.T, b bus.Bus, key string, record T) {
	t.Helper()
	value, err := bus.Encode[T, R](record)
	require.NoError(t, err)
	raw(t, b, key, string(value))
}

func raw(t *testing.T, b bus.Bus, key, value string) {
	t.Helper()
	_, err := b.Put(t.Context(), key, []byte(value), bus.Persistent)
	require.NoError(t, err)
	time.Sleep(time.Second) // virtual: changes that come soon after one another are one change
}

// runRecorder runs a Recorder on an in-memory bus until the test ends.
func runRecorder(t *testing.T) (*membus.Bus, *membus.Session, *history.Recorder) {
	t.Helper()
	b := membus.New()
	r := history.NewRecorder(b.Session(), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
	time.Sleep(time.Second) // virtual: the watches are open, so that each write causes one change
	return b, b.Session(), r
}

func currentSnapshot(r *history.Recorder) *history.Snapshot {
	synctest.Wait()
	s, _ := r.Snapshot()
	return s
}

func sample(namespace, name string, step int64) bus.Sample {
	loaders := 2
	batch := 32
	return bus.Sample{
		Pod:         growth.PodRef{Namespace: namespace, Name: name, UID: growth.PodUID(name)},
		Node:        "n1",
		Step:        step,
		StepSeconds: .1,
		LoadSeconds: .05,
		Loaders:     &loaders,
		BatchSize:   &batch,
	}
}

func TestRecorder_SortsSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, r := runRecorder(t)
		put(t, b, bus.LoadKey("n2"), bus.NodeLoad{LoaderBudget: 2})
		put(t, b, bus.GPUsKey("n1"), bus.NodeGPUs{Emulated: true})
		put(t, b, bus.AllocationKey("n3", "u"), bus.Allocation{})
		put(t, b, bus.AdviceKey("gone"), bus.Advice{Generation: 7})
		put(t, b, bus.SampleKey("b"), sample("z", "b", 1))
		put(t, b, bus.SampleKey("c"), sample("a", "c", 1))
		put(t, b, bus.SampleKey("a"), sample("z", "a", 1))

		s := currentSnapshot(r)
		require.True(t, s.Synced)
		require.Len(t, s.Nodes, 2, "an allocation alone does not create a node")
		require.True(t, s.Nodes[0].GPUs.Emulated)
		require.Nil(t, s.Nodes[0].Load)
		require.Equal(t, 2, s.Nodes[1].Load.LoaderBudget)
		var order []growth.PodUID
		for _, j := range s.Jobs {
			order = append(order, j.UID)
		}
		require.Equal(t, []growth.PodUID{"c", "a", "b", "gone"}, order)
		require.Equal(t, int64(7), s.Jobs[3].Advice.Generation)
		require.NotZero(t, s.Jobs[3].AdviceRevision)
	})
}

func TestRecorder_SkipsUndecodableRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, r := runRecorder(t)
		raw(t, b, bus.SampleKey("new"), `{"v":99}`)
		raw(t, b, bus.Jobs+"what/is/this", `{"v":1}`)
		raw(t, b, bus.AdviceKey("broken"), `]`)
		put(t, b, bus.SampleKey("a"), sample("z", "a", 1))
		put(t, b, bus.SampleKey("a"), sample("z", "a", 2))

		s := currentSnapshot(r)
		require.Len(t, s.Jobs, 1)
		require.Len(t, s.Jobs[0].Measurements, 1)
		require.Len(t, s.Undecodable, 3)
		require.ErrorIs(t, s.Undecodable[bus.SampleKey("new")], bus.ErrVersion)
	})
}

func TestRecorder_KeepsSnapshotWhileBusUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, writer, r := runRecorder(t)
		put(t, writer, bus.SampleKey("a"), sample("z", "a", 1))
		require.NoError(t, currentSnapshot(r).Err)

		failedAt := time.Now()
		b.Fail(bus.ErrUnavailable)
		synctest.Wait()
		time.Sleep(time.Minute)
		b.Fail(errors.Join(bus.ErrUnavailable, errors.New("still")))
		s := currentSnapshot(r)
		require.ErrorIs(t, s.Err, bus.ErrUnavailable)
		require.Equal(t, failedAt, s.UnavailableSince, "unavailable since the first failure")
		require.True(t, s.Synced)
		require.Len(t, s.Jobs, 1)

		b.Fail(nil)
		time.Sleep(time.Second)
		s = currentSnapshot(r)
		require.NoError(t, s.Err)
		require.Zero(t, s.UnavailableSince)
		put(t, writer, bus.SampleKey("a"), sample("z", "a", 2))
		require.Len(t, currentSnapshot(r).Jobs[0].Measurements, 1, "measurements continue")
	})
}

// One list of all jobs for each of the samples that a large cluster writes in a second would cost more than to read them.
func TestRecorder_CollectsChangesOfJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, r := runRecorder(t)
		write := func(name string) {
			value, err := bus.Encode(sample("z", name, 1))
			require.NoError(t, err)
			_, err = b.Put(t.Context(), bus.SampleKey(growth.PodUID(name)), value, bus.Persistent)
			require.NoError(t, err)
		}
		write("a")
		require.Len(t, currentSnapshot(r).Jobs, 1, "a change after a calm time is seen at once")
		_, changed := r.Snapshot()
		write("b")
		write("c")
		require.Len(t, currentSnapshot(r).Jobs, 1)
		<-changed
		require.Len(t, currentSnapshot(r).Jobs, 3, "both are one change")
	})
}

func TestRecorder_ForgetsDeletedJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, r := runRecorder(t)
		for step := range int64(4) {
			put(t, b, bus.SampleKey("a"), sample("z", "a", step))
		}
		require.Len(t, currentSnapshot(r).Jobs[0].Measurements, 3)
		require.NoError(t, b.Delete(t.Context(), bus.SampleKey("a")))
		time.Sleep(time.Second)
		require.Empty(t, currentSnapshot(r).Jobs)
		put(t, b, bus.SampleKey("a"), sample("z", "a", 9))
		require.Empty(t, currentSnapshot(r).Jobs[0].Measurements)
	})
}

// There may be 10,000 models of programs. A snapshot has none of them.
func TestRecorder_DoesNotReadTheModelsOfPrograms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, r := runRecorder(t)
		before, _ := r.Snapshot()
		put(t, b, bus.ProgramKey(programs.IDOf("research", "train.py")), bus.ProgramModel{})
		after := currentSnapshot(r)
		require.Same(t, before, after)
		put(t, b, bus.ModelKey(bus.PeaksModel), bus.Peaks{})
		put(t, b, bus.ModelKey(bus.InterferenceModel), bus.Interference{})
		after = currentSnapshot(r)
		require.NotNil(t, after.Peaks)
		require.NotNil(t, after.Interference)
	})
}

func TestRecorder_AddsASampleToTheHistoryWhetherOrNotItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, r := runRecorder(t)
		for step := range int64(5) {
			put(t, b, bus.SampleKey("a"), sample("z", "a", step))
			put(t, b, bus.SampleKey("b"), sample("z", "b", step))
			if step == 2 {
				currentSnapshot(r)
			}
		}
		for _, j := range currentSnapshot(r).Jobs {
			require.Len(t, j.Measurements, 4)
		}
	})
}

func TestRecorder_NotifiesReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, r := runRecorder(t)
		synctest.Wait()
		_, changed := r.Snapshot()
		select {
		case <-changed:
			t.Fatal("nothing has changed")
		default:
		}
		put(t, b, bus.LoadKey("n"), bus.NodeLoad{})
		<-changed
	})
}
