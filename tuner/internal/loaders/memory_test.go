package loaders_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/programs"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/loaders"
)

var train = programs.IDOf("team-a", "train.py")

// measured returns a job of a program with measurements at numbers of workers. The first one is of its start.
func measured(uid growth.PodUID, program programs.ID, workers ...int) history.Job {
	j := history.Job{UID: uid, Sample: &bus.Sample{Program: program}}
	for _, w := range append([]int{0}, workers...) {
		j.Measurements = append(j.Measurements, loader.Measurement{Loaders: w, Rate: growth.PerSecond(100 * (w + 1)), Batch: 32, Waiting: .5})
	}
	return j
}

func observe(m *loaders.Memory, jobs ...history.Job) {
	m.Observe(&history.Snapshot{Jobs: jobs}, time.Time{})
}

func workers(all []loader.Measurement) (of []int) {
	for _, m := range all {
		of = append(of, m.Loaders)
	}
	return of
}

func TestMemory_NextJobStartsFromEarlierOnes(t *testing.T) {
	var m loaders.Memory
	observe(&m, measured("first", train, 1))
	require.Empty(t, m.Before("first", train), "what the job has measured itself is not from before")
	observe(&m, measured("first", train, 1, 1, 2))
	observe(&m)
	require.Equal(t, []int{1, 1, 2}, workers(m.Before("second", train)))
	require.Empty(t, m.Before("second", programs.IDOf("team-b", "train.py")), "another namespace")

	observe(&m, measured("second", train, 4))
	require.Equal(t, []int{1, 1, 2}, workers(m.Before("second", train)))
	require.Equal(t, []int{1, 1, 2, 4}, workers(m.Before("third", train)))
}

func TestMemory_IsBounded(t *testing.T) {
	var m loaders.Memory
	program := func(i int) programs.ID { return programs.IDOf("team-a", fmt.Sprint(i)) }
	running := measured("job", program(0), 1)
	for i := range loaders.MaxPrograms + 10 {
		observe(&m, running, measured("other", program(i), 1))
		observe(&m, running)
	}
	record, _ := m.Record()
	require.Len(t, record.Programs, loaders.MaxPrograms)
	require.NotEmpty(t, m.Before("next", program(0)), "its job still runs")
	require.Empty(t, m.Before("next", program(1)))
	require.NotEmpty(t, m.Before("next", program(loaders.MaxPrograms+9)))
}

// The largest record can be written.
func TestMemory_RecordIsSmallEnough(t *testing.T) {
	var record bus.Loaders
	for i := range loaders.MaxPrograms {
		p := bus.ProgramLoaders{Program: programs.IDOf("a-namespace-with-a-long-name-of-63-characters-at-most-like-this", fmt.Sprint(i))}
		for w := range loader.MaxRemembered {
			p.Measurements = append(p.Measurements, loader.Measurement{Loaders: w, Rate: 1234567.123456789, Batch: 1 << 20, Waiting: 1. / 3})
		}
		record.Programs = append(record.Programs, p)
	}
	_, err := bus.Encode(record)
	require.NoError(t, err)
}

func TestMemory_WritesOnlyWhatIsNew(t *testing.T) {
	var m loaders.Memory
	changed := func() bool { _, changed := m.Record(); m.Saved(); return changed }
	observe(&m, measured("job", train, 2))
	require.True(t, changed())
	observe(&m, measured("job", train, 2))
	require.False(t, changed())
	observe(&m, measured("job", train, 2, 3))
	require.True(t, changed())
}

func TestMemory_IgnoresInvalidRecords(t *testing.T) {
	var m loaders.Memory
	m.Load(&bus.Loaders{Programs: []bus.ProgramLoaders{
		{Program: train, Measurements: []loader.Measurement{{Loaders: -1, Rate: 1, Batch: 1}, {Loaders: 1, Rate: -1, Batch: 1}, {Loaders: 1, Rate: 1}}},
	}})
	require.Empty(t, m.Before("job", train))
}

// Another tuner, as after an upgrade, knows what this one has measured.
func TestController_MemorySurvivesTheTuner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		node := b.Session()
		start := func() (*loaders.Memory, func()) {
			ctx, cancel := context.WithCancel(t.Context())
			session, log := b.Session(), slog.New(slog.DiscardHandler)
			recorder, m := history.NewRecorder(session, log), &loaders.Memory{}
			go recorder.Run(ctx) // returns when ctx ends
			synctest.Wait()
			go loaders.NewController(recorder, session, m, log).Run(ctx)
			return m, cancel
		}
		_, stop := start()
		two := 2
		for step := range int64(5) {
			value, err := bus.Encode(bus.Sample{
				Pod: growth.PodRef{Namespace: "team-a", Name: "job", UID: "job"}, Program: train,
				Step: 10 * step, StepSeconds: .1, LoadSeconds: .05, SamplesPerSecond: 320, Loaders: &two, BatchSize: new(32),
			})
			require.NoError(t, err)
			_, err = node.Put(t.Context(), bus.SampleKey("job"), value, bus.Persistent)
			require.NoError(t, err)
			time.Sleep(30 * time.Second)
		}
		stop()
		again, stop := start()
		defer stop()
		time.Sleep(time.Minute)
		require.Equal(t, []int{2, 2}, workers(again.Before("next", train)))
	})
}
