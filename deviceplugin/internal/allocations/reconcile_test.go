package allocations_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

var now = time.Unix(10_000, 0)

func pod(name string, change ...func(*pods.Pod)) pods.Pod {
	p := pods.Pod{
		Ref: growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID("uid-" + name)}, Count: 1,
		Containers: []pods.Container{{Name: "main", Units: 2}},
	}
	for _, f := range change {
		f(&p)
	}
	return p
}

func numbered(n int) func(*pods.Pod) { return func(p *pods.Pod) { p.GPUIndex = &n } }

// imported returns the record of a pod that another plugin started. It has no slot.
func imported(name string, ids ...string) bus.Allocation {
	a := recorded(name, ids...)
	a.Containers[0].Slot = ""
	return a
}

func withUID(uid growth.PodUID) func(*pods.Pod) {
	return func(p *pods.Pod) { p.Ref.UID = uid }
}

func finished(p *pods.Pod) { p.Finished = true }

func holds(name string, ids ...string) kubelet.ContainerDevices {
	return kubelet.ContainerDevices{
		Namespace: "ns",
		Pod:       name,
		Container: "main",
		IDs:       ids,
	}
}

func recorded(name string, ids ...string) bus.Allocation {
	return bus.Allocation{Pod: pod(name).Ref, Containers: []bus.ContainerAllocation{{
		Name: "main",
		GPUs: []growth.GPUShare{{
			GPU:    "A",
			Memory: growth.MiB(len(ids)) * growth.GiB,
		}},
		IDs:  ids,
		Slot: slice.Slot(ids),
	}}}
}

func slotDir(age time.Duration, ids ...string) slot.Dir {
	return slot.Dir{Name: slice.Slot(ids), IDs: ids, Modified: now.Add(-age)}
}

// reconcileCase is one case of testReconcile.
type reconcileCase struct {
	snapshot allocations.Snapshot
	write    []bus.Allocation
	del      []growth.PodUID
	remove   []string
	pending  int
}

func testReconcile(t *testing.T, cases map[string]reconcileCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.snapshot.Unit = growth.GiB
			tc.snapshot.Now = now
			tc.snapshot.GPUs = []growth.GPU{"B", "A"}
			c := allocations.Reconcile(tc.snapshot)
			require.Equal(t, tc.write, c.Put)
			require.Equal(t, tc.del, c.Delete)
			require.Equal(t, tc.remove, c.RemoveSlots)
			require.Len(t, c.Pending, tc.pending)
			require.Equal(t, len(tc.write)+len(tc.del), c.Drift())
		})
	}
}

func TestReconcile_Records(t *testing.T) {
	testReconcile(t, map[string]reconcileCase{
		"no difference": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "A/0", "A/1")},
				Pods:       []pods.Pod{pod("p")},
				PodsSynced: true,
				Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0", "A/1")},
				Slots:      []slot.Dir{slotDir(time.Hour, "A/0", "A/1")},
			},
		},
		"not recorded yet": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "A/0")},
				Pods:       []pods.Pod{pod("p")},
				PodsSynced: true,
			},
			write: []bus.Allocation{recorded("p", "A/0")},
		},
		"recorded differently": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "A/0")},
				Pods:       []pods.Pod{pod("p")},
				PodsSynced: true,
				Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/7")},
			},
			write: []bus.Allocation{recorded("p", "A/0")},
		},
		"a newer writer's unknown fields are not a difference": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "A/0")},
				Pods:       []pods.Pod{pod("p")},
				PodsSynced: true,
				Recorded: map[growth.PodUID]bus.Allocation{"uid-p": func() bus.Allocation {
					a := recorded("p", "A/0")
					a.Header = bus.Header{
						Version: 1,
						Unknown: map[string]json.RawMessage{"colour": json.RawMessage(`"red"`)},
					}
					return a
				}()},
			},
		},
	})
}

func TestReconcile_Pods(t *testing.T) {
	testReconcile(t, map[string]reconcileCase{
		"the API server has not listed the pod": {
			snapshot: allocations.Snapshot{Devices: []kubelet.ContainerDevices{holds("p", "A/0")}, PodsSynced: true},
			pending:  1,
		},
		"an older kubelet lists a pod that has ended": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "A/0")},
				Pods:       []pods.Pod{pod("p", finished)},
				PodsSynced: true,
				Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")},
			},
			del: []growth.PodUID{"uid-p"},
		},
		"the pod is gone": {
			snapshot: allocations.Snapshot{
				PodsSynced: true, Recorded: map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")},
				Slots: []slot.Dir{slotDir(time.Hour, "A/0")},
			},
			del: []growth.PodUID{"uid-p"}, remove: []string{slice.Slot([]string{"A/0"})},
		},
		"a pod with the same name is another pod": {
			snapshot: allocations.Snapshot{
				Devices: []kubelet.ContainerDevices{holds("p", "A/0")}, PodsSynced: true,
				Pods: []pods.Pod{pod("p", finished, withUID("uid-before")), pod("p")},
				Recorded: map[growth.PodUID]bus.Allocation{
					"uid-before": recorded("p", "A/0"),
					"uid-p":      recorded("p", "A/0"),
				},
			},
			del: []growth.PodUID{"uid-before"},
		},
		"another pod holds its ids": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("q", "A/0")},
				Pods:       []pods.Pod{pod("p"), pod("q")},
				PodsSynced: true,
				Recorded: map[growth.PodUID]bus.Allocation{
					"uid-p": recorded("p", "A/0"),
					"uid-q": recorded("q", "A/0"),
				},
			},
			del: []growth.PodUID{"uid-p"},
		},
		"nothing is deleted until the pods are synced": {
			snapshot: allocations.Snapshot{
				Recorded: map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")},
				Slots:    []slot.Dir{slotDir(time.Hour, "A/0")},
			},
		},
	})
}

func TestReconcile_Slots(t *testing.T) {
	testReconcile(t, map[string]reconcileCase{
		"a slot within its grace period": {
			snapshot: allocations.Snapshot{PodsSynced: true, Slots: []slot.Dir{slotDir(time.Second, "A/0")}},
		},
		"an init container's slot whose ids the next container uses": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "A/0")},
				Pods:       []pods.Pod{pod("p")},
				PodsSynced: true,
				Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")},
				Slots:      []slot.Dir{slotDir(time.Hour, "A/0", "A/1")},
			},
		},
		"an init container's slot whose ids no other container uses": {
			snapshot: allocations.Snapshot{
				Pods:       []pods.Pod{pod("p", func(p *pods.Pod) { p.Containers[0].Init = true })},
				PodsSynced: true,
				Slots:      []slot.Dir{slotDir(time.Hour, "A/0", "A/1")},
			},
		},
		"slots without recorded ids, one of them in use": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "A/0")},
				Pods:       []pods.Pod{pod("p")},
				PodsSynced: true,
				Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")},
				Slots:      []slot.Dir{{Name: slice.Slot([]string{"A/0"})}, {Name: slice.Slot([]string{"A/1"})}},
			},
			remove: []string{slice.Slot([]string{"A/1"})},
		},
	})
}

func TestReconcile_InvalidAndImportedDevices(t *testing.T) {
	testReconcile(t, map[string]reconcileCase{
		"kubelet's ids are invalid": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "no-id")},
				Pods:       []pods.Pod{pod("p")},
				PodsSynced: true,
			},
			pending: 1,
		},
		"another plugin's pod on the GPU of its annotation": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "X-_-0")},
				Pods:       []pods.Pod{pod("p", numbered(1))},
				PodsSynced: true,
			},
			write: []bus.Allocation{imported("p", "X-_-0")},
		},
		"another plugin's pod on a GPU that does not exist": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "X-_-0")},
				Pods:       []pods.Pod{pod("p", numbered(2))},
				PodsSynced: true,
			},
			pending: 1,
		},
		"another plugin's pod is recorded already": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "X-_-0")},
				Pods:       []pods.Pod{pod("p", numbered(1))},
				PodsSynced: true,
				Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": imported("p", "X-_-0")},
			},
		},
		"another plugin's pod has ended": {
			snapshot: allocations.Snapshot{
				Pods: []pods.Pod{pod("p", numbered(1), finished)}, PodsSynced: true,
				Recorded: map[growth.PodUID]bus.Allocation{"uid-p": imported("p", "X-_-0")},
			},
			del: []growth.PodUID{"uid-p"},
		},
	})
}

var (
	created = time.Unix(7, 0)
	// reservation reserves two units of GPU B for the container main.
	reservation = bus.Reservation{
		Created: created,
		GPUs: []growth.GPUShare{{
			GPU:    "B",
			Memory: 2048,
		}},
		Containers: []bus.ContainerRequest{{
			Name:  "main",
			Units: 2,
		}},
	}
	mainOfP = slice.Key{Pod: "uid-p", Container: "main"}
)

// demandsCase is one case of testDemands.
type demandsCase struct {
	pods         []pods.Pod
	reservations map[growth.PodUID]bus.Reservation
	satisfied    map[slice.Key]struct{}
	want         []slice.Demand
}

func testDemands(t *testing.T, cases map[string]demandsCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, allocations.Demands(tc.pods, tc.reservations, tc.satisfied))
		})
	}
}

func TestDemands_Reservations(t *testing.T) {
	testDemands(t, map[string]demandsCase{
		"a pod with a reservation": {
			pods: []pods.Pod{pod("p")}, reservations: map[growth.PodUID]bus.Reservation{"uid-p": reservation},
			want: []slice.Demand{{
				Pod:       "uid-p",
				Container: "main",
				Units:     2,
				Count:     1,
				Room:      2,
				GPUs:      []growth.GPU{"B"},
			}},
		},
		"the reservation is not known yet, but the Binding names the GPU": {
			pods: []pods.Pod{pod("p", func(p *pods.Pod) { p.Planned = []growth.GPU{"A"} })},
			want: []slice.Demand{{
				Pod:       "uid-p",
				Container: "main",
				Units:     2,
				Count:     1,
				Room:      2,
				GPUs:      []growth.GPU{"A"},
			}},
		},
		"the reservation changed after the Binding": {
			pods:         []pods.Pod{pod("p", func(p *pods.Pod) { p.Planned = []growth.GPU{"A"} })},
			reservations: map[growth.PodUID]bus.Reservation{"uid-p": reservation},
			want: []slice.Demand{{
				Pod:       "uid-p",
				Container: "main",
				Units:     2,
				Count:     1,
				Room:      2,
				GPUs:      []growth.GPU{"B"},
			}},
		},
		"the annotation names more GPUs than the pod requests": {
			pods: []pods.Pod{pod("p", func(p *pods.Pod) { p.Planned = []growth.GPU{"A", "B"} })},
			want: []slice.Demand{{
				Pod:       "uid-p",
				Container: "main",
				Units:     2,
				Count:     1,
				Room:      2,
			}},
		},
	})
}

func TestDemands_WithoutReservation(t *testing.T) {
	testDemands(t, map[string]demandsCase{
		"a pod bound without the extender": {
			pods: []pods.Pod{pod("p", func(p *pods.Pod) { p.Count = 2 })},
			want: []slice.Demand{{
				Pod:       "uid-p",
				Container: "main",
				Units:     2,
				Count:     2,
				Room:      2,
			}},
		},
		"a reservation whose pod is not known yet": {
			reservations: map[growth.PodUID]bus.Reservation{"uid-p": reservation},
			want: []slice.Demand{{
				Pod:       "uid-p",
				Container: "main",
				Created:   created,
				Units:     2,
				Count:     1,
				GPUs:      []growth.GPU{"B"},
			}},
		},
		"the pod holds its units": {
			pods: []pods.Pod{pod("p")}, reservations: map[growth.PodUID]bus.Reservation{"uid-p": reservation},
			satisfied: map[slice.Key]struct{}{mainOfP: {}},
		},
		"the pod has ended and its reservation has not": {
			pods:         []pods.Pod{pod("p", finished)},
			reservations: map[growth.PodUID]bus.Reservation{"uid-p": reservation},
		},
	})
}

func TestDemands_RoomForLaterContainers(t *testing.T) {
	testDemands(t, map[string]demandsCase{
		"containers need room for the containers after them": {
			pods: []pods.Pod{pod("p", func(p *pods.Pod) {
				p.Containers = []pods.Container{{
					Name:  "init",
					Units: 4,
					Init:  true,
				}, {
					Name:  "a",
					Units: 3,
				}, {
					Name:  "b",
					Units: 2,
				}}
			})},
			want: []slice.Demand{
				{
					Pod:       "uid-p",
					Container: "init",
					Units:     4,
					Count:     1,
					Room:      5,
					Init:      true,
				},
				{
					Pod:       "uid-p",
					Container: "a",
					Units:     3,
					Count:     1,
					Room:      5,
				},
				{
					Pod:       "uid-p",
					Container: "b",
					Units:     2,
					Count:     1,
					Room:      2,
				},
			},
		},
	})
}

// A new field must be added to same.
func TestSame_ComparesEveryField(t *testing.T) {
	fields := reflect.TypeFor[bus.ContainerAllocation]().NumField()
	require.Equal(t, 4, fields, "allocations.same must compare the new field")
}
