package reservations_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/etcdbus/etcdtest"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// testNode is a node's books on a bus, with one GPU that matters and one that does not.
type testNode struct {
	*testing.T
	bus bus.Bus
	reservations.Store
}

func (s testNode) publish(gpus ...growth.GPU) {
	inventory := bus.NodeGPUs{Unit: growth.GiB}
	for _, g := range gpus {
		inventory.GPUs = append(inventory.GPUs, bus.GPU{UUID: g, Memory: 8 * growth.GiB, Healthy: true})
	}
	value, err := bus.Encode(inventory)
	require.NoError(s, err)
	_, err = s.bus.Put(s.Context(), bus.GPUsKey("n"), value, bus.Persistent)
	require.NoError(s, err)
}

func (s testNode) stop() { require.NoError(s, s.bus.Delete(s.Context(), bus.GPUsKey("n"))) }

func (s testNode) records() *reservations.NodeRecords {
	books, _, err := s.Read(s.Context(), "n")
	require.NoError(s, err)
	return books
}

// decide reads the records, and returns a function that writes the decision based on them: 8 GiB of a GPU.
func (s testNode) decide(pod growth.PodUID, gpu growth.GPU) func() error {
	records, revision, err := s.Read(s.Context(), "n")
	require.NoError(s, err)
	basis := reservations.Basis{Node: placement.NewNode("n", placement.Records{Inventory: *records.Inventory}), Revision: revision, Published: records.Published}
	return func() error {
		_, err := s.Reserve(s.Context(), basis, bus.Reservation{Pod: growth.PodRef{UID: pod}, GPUs: []growth.GPUShare{{GPU: gpu, Memory: 8 * growth.GiB}}})
		return err
	}
}

// TestStore_ForgetKeepsLateDecisionsOut writes a late decision: its records were read before another replica reserved the
// same GPU and released it. Without the epoch the bus would accept it.
func TestStore_ForgetKeepsLateDecisionsOut(t *testing.T) {
	for name, tc := range map[string]struct {
		// before happens until the records are read, meanwhile until Forget, after until the late write.
		before, meanwhile, after func(testNode)
		conflict                 bool
		want                     []growth.GPU
	}{
		"node removed":            {before: testNode.stop},
		"GPU removed":             {before: func(s testNode) { s.publish("h") }, want: []growth.GPU{"h"}},
		"node back before Forget": {before: testNode.stop, meanwhile: func(s testNode) { s.publish("g", "h") }, conflict: true, want: []growth.GPU{"g", "h"}},
		"GPU back before Forget":  {before: func(s testNode) { s.publish("h") }, meanwhile: func(s testNode) { s.publish("g", "h") }, conflict: true, want: []growth.GPU{"g", "h"}},
		"node back after Forget":  {before: testNode.stop, after: func(s testNode) { s.publish("g", "h") }},
		"GPU back after Forget":   {before: func(s testNode) { s.publish("h") }, after: func(s testNode) { s.publish("g", "h") }, want: []growth.GPU{"h"}},
		"inventory of a later version": {before: func(s testNode) {
			_, err := s.bus.Put(s.Context(), bus.GPUsKey("n"), []byte(`{"v":9}`), bus.Persistent)
			require.NoError(s, err)
		}, want: []growth.GPU{"g", "h"}},
	} {
		for on, open := range map[string]func(*testing.T) bus.Bus{
			"in memory": func(*testing.T) bus.Bus { return membus.New().Session() },
			"on etcd":   func(t *testing.T) bus.Bus { return etcdtest.New(t).Open(sessionTTL) },
		} {
			t.Run(name+", "+on, func(t *testing.T) {
				b := open(t)
				s := testNode{t, b, reservations.Store{Bus: b, OverCommitted: func() { t.Error("over-committed") }}}
				run := func(step func(testNode)) {
					if step != nil {
						step(s)
					}
				}
				s.publish("g", "h")
				late := s.decide("late", "g")
				require.NoError(t, s.decide("served", "g")())
				require.NoError(t, s.decide("other", "h")())
				require.NoError(t, s.Release(t.Context(), "n", growth.PodRef{UID: "served"}, s.records().Reservations["served"].Revision))
				require.Empty(t, s.records().RemovedGPUs())

				run(tc.before)
				records := s.records()
				run(tc.meanwhile)
				for _, g := range records.RemovedGPUs() {
					err := s.Forget(t.Context(), "n", g, records.Published)
					require.Equal(t, tc.conflict, errors.Is(err, bus.ErrConflict), "%v", err)
				}
				require.Equal(t, tc.want, slices.Sorted(maps.Keys(s.records().Epochs)))
				run(tc.after)
				require.ErrorIs(t, late(), bus.ErrConflict)
			})
		}
	}
}
