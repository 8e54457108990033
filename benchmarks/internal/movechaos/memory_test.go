package movechaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/movechaos"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/move"
)

func TestMemory(t *testing.T) {
	runs := movechaos.Pod{UID: "old", Name: "old", Node: "a", Runs: true}
	pending := movechaos.Pod{UID: "old", Name: "old"}
	ended := movechaos.Pod{UID: "old", Name: "old", Node: "a", Ended: true}
	leaving := movechaos.Pod{UID: "old", Name: "old", Node: "a"}
	for name, test := range map[string]struct {
		pods          []movechaos.Pod
		records       []bus.Entry
		missing, left []string
	}{
		"nothing is there":             {},
		"a pod runs":                   {pods: pods(runs), records: records(allocation("a"))},
		"a pod runs; not yet recorded": {pods: pods(runs), records: records(reservation("a"))},
		"a pod runs; both records":     {pods: pods(runs), records: records(reservation("a"), allocation("a"))},
		"a pod runs without memory":    {pods: pods(runs), missing: []string{withoutMemory}},
		"a pod has it on another node": {
			pods:    pods(runs),
			records: records(allocation("b")),
			missing: []string{withoutMemory},
			left:    []string{"an allocation of pod old on node b"},
		},
		"a pod is about to be bound": {pods: pods(pending), records: records(reservation("b"))},
		"a pod is bound elsewhere": {
			pods:    pods(runs),
			records: records(allocation("a"), reservation("b")),
			left:    []string{"a reservation of pod old on node b"},
		},
		"a pod is being deleted": {pods: pods(leaving), records: records(allocation("a"))},
		"a pod has ended": {
			pods:    pods(ended),
			records: records(allocation("a")),
			left:    []string{"an allocation of pod old on node a"},
		},
		"a pod is gone": {records: records(reservation("a")), left: []string{"a reservation of pod old on node a"}},
		"a job moves": {
			pods:    pods(runs),
			records: records(allocation("a"), held("b"), moves(move.Saving)),
		},
		"a job moves, its pod is gone": {records: records(held("b"), moves(move.Evicted))},
		"a job moves without memory": {
			pods:    pods(runs),
			records: records(allocation("a"), moves(move.Saved)),
			missing: []string{"the move of pod old is Saved, and no memory is reserved on node b"},
		},
		"a request":               {pods: pods(runs), records: records(allocation("a"), moves(move.Proposed))},
		"a move has been aborted": {pods: pods(runs), records: records(allocation("a"), moves(move.Aborted))},
		"a move has left its memory": {
			pods:    pods(runs),
			records: records(allocation("a"), held("b"), moves(move.Aborted)),
			left:    []string{"a reservation of pod old on node b"},
		},
		"memory is held without a move": {
			pods:    pods(runs),
			records: records(allocation("a"), held("b")),
			left:    []string{"a reservation of pod old on node b"},
		},
		"held memory is for another pod": {
			pods:    pods(runs),
			records: records(held("a"), moves(move.Saving)),
			missing: []string{withoutMemory, "the move of pod old is Saving, and no memory is reserved on node b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			memory, err := movechaos.Read(test.records)
			require.NoError(t, err)
			require.Equal(t, test.missing, memory.Missing(test.pods))
			require.Equal(t, test.left, memory.Left(test.pods))
		})
	}
}

const withoutMemory = "pod old runs on node a, and no record has its memory"

func TestRead_RejectsWhatItCannotRead(t *testing.T) {
	_, err := movechaos.Read([]bus.Entry{{Key: bus.ReservationKey("a", "old"), Value: []byte(`{"v":99}`)}})
	require.ErrorContains(t, err, "reservations/old")
}

func TestLasting(t *testing.T) {
	start := time.Unix(1000, 0)
	l := movechaos.Lasting{Limit: 30 * time.Second}
	observe := func(second int, wrong ...string) []string {
		return l.Observe(start.Add(time.Duration(second)*time.Second), wrong)
	}
	require.Empty(t, observe(0, "x", "y"))
	require.Empty(t, observe(20, "x"))
	require.Equal(t, []string{"x, for 31s"}, observe(31, "x", "y"), "y was right in between")
	require.Empty(t, observe(62, "x"), "once")
	require.Empty(t, observe(63))
	require.Empty(t, observe(64, "x"))
	l.Unknown()
	require.Empty(t, observe(100, "x"), "it may have been right meanwhile")
	require.Equal(t, []string{"x, for 40s"}, observe(140, "x"))
}

func pods(all ...movechaos.Pod) []movechaos.Pod { return all }

func records(all ...bus.Entry) []bus.Entry { return all }

func entry[T any, R bus.Record[T]](key string, record T) bus.Entry {
	value, err := bus.Encode[T, R](record)
	if err != nil {
		panic(err)
	}
	return bus.Entry{Key: key, Value: value}
}

var old = growth.PodRef{Namespace: "default", Name: "old", UID: "old"}

func reservation(on growth.NodeName) bus.Entry {
	return entry(bus.ReservationKey(on, old.UID), bus.Reservation{Pod: old})
}

func held(on growth.NodeName) bus.Entry {
	return entry(bus.ReservationKey(on, old.UID), bus.Reservation{Pod: old, Held: true})
}

func allocation(on growth.NodeName) bus.Entry {
	return entry(bus.AllocationKey(on, old.UID), bus.Allocation{Pod: old})
}

func moves(state move.State) bus.Entry {
	return entry(bus.MoveKey(old.UID), bus.Move{Pod: old, Move: move.Record{ID: "m", Old: old.UID, From: "a", To: "b", State: state}})
}
