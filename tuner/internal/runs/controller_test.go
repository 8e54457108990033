package runs_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/programs"

	"github.com/trellis-gpu/trellis/tuner/internal/runs"
)

// counts are shared by the tuners of a harness.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) CountRuns(result string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[result] += n
}

func (c *counts) CountProgramWrite(result string) { c.CountRuns(result, 1) }

func (c *counts) get(result string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[result]
}

// harness is a bus with nodes that publish runs, and tuners.
type harness struct {
	t      *testing.T
	bus    *membus.Bus
	node   *membus.Session
	counts *counts
	index  *runs.Index // of the newest tuner
}

func in(t *testing.T, test func(t *testing.T, h *harness)) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		test(t, &harness{t: t, bus: b, node: b.Session(), counts: &counts{of: map[string]int{}}})
	})
}

// tuner starts a tuner that is the leader, and returns a function that ends it.
func (h *harness) tuner(sharing string, running ...programs.ID) (stop func()) {
	ctx, cancel := context.WithCancel(h.t.Context())
	session, log := h.bus.Session(), slog.New(slog.DiscardHandler)
	shared, err := runs.ParseSharing(sharing)
	require.NoError(h.t, err)
	h.index = runs.NewIndex(session, log)
	controller := runs.Controller{Bus: session, Index: h.index, Metrics: h.counts, Log: log, Sharing: shared}
	controller.Running = func() map[programs.ID]bool {
		all := map[programs.ID]bool{}
		for _, id := range running {
			all[id] = true
		}
		return all
	}
	go h.index.Run(ctx) // returns when ctx ends
	go controller.Run(ctx)
	synctest.Wait()
	return func() {
		cancel()
		synctest.Wait()
	}
}

func (h *harness) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// run returns a run that ended now.
func run(id programs.ID, pod string) programs.Run {
	return programs.Run{
		Pod:    growth.PodUID(pod),
		Job:    id.Namespace + "/" + pod,
		Ended:  time.Now().UTC().Truncate(time.Second),
		Points: []programs.Point{{1, 2, 1}, {9, 1, 1}},
	}
}

// publish publishes runs as the coordinator of a node does.
func (h *harness) publish(node growth.NodeName, id programs.ID, all ...programs.Run) {
	value, err := bus.Encode(bus.ProgramRuns{Runs: all})
	require.NoError(h.t, err)
	_, err = h.node.Put(h.t.Context(), bus.RunsKey(node, id), value, bus.Ephemeral)
	require.NoError(h.t, err)
}

// model returns the pods and nodes of a model's runs, the newest first.
func (h *harness) model(id programs.ID) (pods []string) {
	record, _ := h.record(id)
	for _, r := range record.Runs {
		pods = append(pods, fmt.Sprintf("%s/%s", r.Node, r.Pod))
	}
	return pods
}

func (h *harness) record(id programs.ID) (record bus.ProgramModel, found bool) {
	entries, _, err := h.node.List(h.t.Context(), bus.ProgramKey(id))
	require.NoError(h.t, err)
	if len(entries) == 0 {
		return record, false
	}
	record, err = bus.Decode[bus.ProgramModel](entries[0].Value)
	require.NoError(h.t, err)
	return record, true
}

const soon = 10 * time.Second

var (
	train = programs.IDOf("team", "train loss:min")
	other = programs.IDOf("others", "train loss:min")
)

func TestController_MergesTheRunsOfAllNodes(t *testing.T) {
	in(t, func(t *testing.T, h *harness) {
		defer h.tuner("")()
		h.publish("a", train, run(train, "1"))
		h.pass(soon)
		h.publish("b", train, run(train, "2"))
		h.publish("b", other, run(other, "3"))
		h.pass(soon)
		require.Equal(t, []string{"b/2", "a/1"}, h.model(train))
		require.Equal(t, []string{"b/3"}, h.model(other), "namespaces are separate")
		require.Equal(t, 3, h.counts.get(runs.Merged))
		count, bytes := h.index.Size()
		require.Equal(t, 2, count)
		require.Positive(t, bytes)
	})
}

func TestController_ModelsSurviveNodesAndLeaders(t *testing.T) {
	in(t, func(t *testing.T, h *harness) {
		stop := h.tuner("")
		h.publish("a", train, run(train, "1"))
		h.pass(soon)
		stop()
		require.NoError(t, h.node.Close()) // the node is gone, and its records with it
		h.node = h.bus.Session()
		second := run(train, "2")
		h.publish("b", train, second)
		defer h.tuner("")()
		h.pass(soon)
		require.Equal(t, []string{"b/2", "a/1"}, h.model(train))
		writes := h.counts.get(runs.Written)
		h.publish("b", train, second) // a coordinator that restarts publishes again
		h.pass(soon)
		require.Equal(t, writes, h.counts.get(runs.Written), "nothing is new")
	})
}

// A pod that its coordinator took for ended runs again under its UID, and ends later.
func TestController_ReplacesTheRunOfAPodThatWasTakenForEnded(t *testing.T) {
	in(t, func(t *testing.T, h *harness) {
		defer h.tuner("")()
		early := run(train, "1")
		h.publish("a", train, early)
		h.pass(time.Hour)
		late := run(train, "1")
		late.Points = append(late.Points, programs.Point{20, .5, 1})
		h.publish("a", train, late, early)
		h.pass(soon)
		record, _ := h.record(train)
		require.Equal(t, []programs.Point{{1, 2, 1}, {9, 1, 1}, {20, .5, 1}}, record.Runs[0].Points)
		require.Len(t, record.Runs, 1)
	})
}

func TestController_TwoLeadersLoseNothing(t *testing.T) {
	in(t, func(t *testing.T, h *harness) {
		defer h.tuner("")()
		defer h.tuner("")()
		for i := range 4 {
			h.publish(growth.NodeName(fmt.Sprint("n", i)), train, run(train, fmt.Sprint(i)))
			h.pass(soon)
		}
		require.Len(t, h.model(train), 4)
	})
}

func TestController_WorksAgainAfterTheBusWasUnavailable(t *testing.T) {
	in(t, func(t *testing.T, h *harness) {
		defer h.tuner("")()
		h.publish("a", train, run(train, "1"))
		h.bus.Fail(bus.ErrUnavailable)
		h.pass(time.Minute)
		h.bus.Fail(nil)
		h.pass(soon)
		require.Equal(t, []string{"a/1"}, h.model(train))
	})
}

func TestController_RefusesWhatIsNotARunOfTheProgram(t *testing.T) {
	in(t, func(t *testing.T, h *harness) {
		defer h.tuner("")()
		h.publish("a", train, run(other, "1"))
		broken := run(train, "2")
		broken.Points = nil
		h.publish("b", train, broken)
		_, err := h.node.Put(t.Context(), bus.RunsKey("c", train), []byte("?"), bus.Ephemeral)
		require.NoError(t, err)
		_, err = h.node.Put(t.Context(), bus.Runs+"d", []byte("{}"), bus.Ephemeral)
		require.NoError(t, err)
		h.pass(soon)
		_, found := h.record(train)
		require.False(t, found)
		require.Equal(t, 3, h.counts.get(runs.Refused))
	})
}

func TestController_LeavesAModelOfANewerRelease(t *testing.T) {
	in(t, func(t *testing.T, h *harness) {
		_, err := h.node.Put(t.Context(), bus.ProgramKey(train), []byte(`{"v":9}`), bus.Persistent)
		require.NoError(t, err)
		_, err = h.node.Put(t.Context(), bus.ProgramKey(other), []byte(`?`), bus.Persistent)
		require.NoError(t, err)
		defer h.tuner("")()
		h.publish("a", train, run(train, "1"))
		h.publish("a", other, run(other, "2"))
		h.pass(soon)
		entries, _, err := h.node.List(t.Context(), bus.ProgramKey(train))
		require.NoError(t, err)
		require.Equal(t, `{"v":9}`, string(entries[0].Value))
		require.Equal(t, []string{"a/2"}, h.model(other), "what is not JSON is replaced")
	})
}

func TestController_SharesBetweenNamespaces(t *testing.T) {
	in(t, func(t *testing.T, h *harness) {
		third := train.In("third")
		shared := train.In(programs.Shared)
		stop := h.tuner("team, others")
		h.publish("a", train, run(train, "1"))
		h.publish("a", third, run(third, "9"))
		h.pass(soon)
		h.publish("b", other, run(other, "2"))
		h.pass(soon)
		record, _ := h.record(shared)
		require.Equal(t, []string{"b/2", "a/1"}, h.model(shared))
		require.Equal(t, []string{"others", "team"}, record.Readers)
		require.Equal(t, []string{"a/9"}, h.model(third))
		stop()

		stop = h.tuner("team")
		h.pass(soon)
		record, _ = h.record(shared)
		require.Equal(t, []string{"a/1"}, h.model(shared), "the runs of a namespace that shares no more are gone")
		require.Equal(t, []string{"team"}, record.Readers)
		stop()

		defer h.tuner("")()
		h.pass(soon)
		_, found := h.record(shared)
		require.False(t, found)
		require.Equal(t, []string{"a/1"}, h.model(train), "its own runs are still on its node, and are merged into its own model")
	})
}

func TestController_DropsWhatWasNotUsedForLong(t *testing.T) {
	in(t, func(t *testing.T, h *harness) {
		const many = runs.MaxPrograms + 3
		id := func(i int) programs.ID { return programs.IDOf("team", fmt.Sprint(i)) }
		old := time.Now().UTC().Truncate(24 * time.Hour).Add(-many * 24 * time.Hour)
		for i := range many {
			record := bus.ProgramModel{Model: programs.Model{Runs: []programs.Run{run(id(i), "u")}, Used: old.Add(time.Duration(i) * 24 * time.Hour)}}
			value, err := bus.Encode(record)
			require.NoError(t, err)
			_, err = h.node.Put(t.Context(), bus.ProgramKey(id(i)), value, bus.Persistent)
			require.NoError(t, err)
		}
		defer h.tuner("", id(0))()
		h.pass(soon)
		count, _ := h.index.Size()
		require.Equal(t, runs.MaxPrograms, count)
		require.Equal(t, 3, h.counts.get(runs.Dropped))
		for i, kept := range map[int]bool{0: true, 1: false, 3: false, 4: true, many - 1: true} {
			_, found := h.record(id(i))
			require.Equal(t, kept, found, "program %d; a job of program 0 runs", i)
		}
	})
}

func TestParseSharing(t *testing.T) {
	for text, want := range map[string]runs.Sharing{
		"": nil, "a": {"a"}, "b, a,b": {"a", "b"}, "*": {"*"}, "a,*": {"*"},
	} {
		got, err := runs.ParseSharing(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	_, err := runs.ParseSharing("a,B/c")
	require.ErrorContains(t, err, `"B/c" is not a namespace`)
}
