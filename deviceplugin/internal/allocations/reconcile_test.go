package allocations_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

var now = time.Unix(10_000, 0)

func pod(name string, change ...func(*allocations.Pod)) allocations.Pod {
	p := allocations.Pod{
		Ref: growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID("uid-" + name)}, Count: 1,
		Containers: []allocations.Container{{Name: "main", Units: 2}},
	}
	for _, f := range change {
		f(&p)
	}
	return p
}

func numbered(n int) func(*allocations.Pod) { return func(p *allocations.Pod) { p.GPUIndex = &n } }

// imported is recorded for a pod of another plugin: there is no slot.
func imported(name string, ids ...string) bus.Allocation {
	a := recorded(name, ids...)
	a.Containers[0].Slot = ""
	return a
}

func finished(p *allocations.Pod) { p.Finished = true }

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

func folder(age time.Duration, ids ...string) slot.Folder {
	return slot.Folder{Name: slice.Slot(ids), IDs: ids, Modified: now.Add(-age)}
}

func TestReconcile(t *testing.T) {
	for name, tc := range map[string]struct {
		snapshot allocations.Snapshot
		write    []bus.Allocation
		del      []growth.PodUID
		remove   []string
		pending  int
	}{
		"all is in line": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "A/0", "A/1")},
				Pods:       []allocations.Pod{pod("p")},
				PodsSynced: true,
				Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0", "A/1")},
				Slots:      []slot.Folder{folder(time.Hour, "A/0", "A/1")},
			},
		},
		"not written yet": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "A/0")},
				Pods:       []allocations.Pod{pod("p")},
				PodsSynced: true,
			},
			write: []bus.Allocation{recorded("p", "A/0")},
		},
		"written otherwise": {
			snapshot: allocations.Snapshot{
				Devices: []kubelet.ContainerDevices{holds("p", "A/0")}, Pods: []allocations.Pod{pod("p")}, PodsSynced: true,
				Recorded: map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/7")},
			},
			write: []bus.Allocation{recorded("p", "A/0")},
		},
		"a newer writer's fields are no difference": {
			snapshot: allocations.Snapshot{
				Devices: []kubelet.ContainerDevices{holds("p", "A/0")}, Pods: []allocations.Pod{pod("p")}, PodsSynced: true,
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
		"the API server has not told of the pod": {
			snapshot: allocations.Snapshot{Devices: []kubelet.ContainerDevices{holds("p", "A/0")}, PodsSynced: true},
			pending:  1,
		},
		"an older kubelet lists a pod that has ended": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "A/0")},
				Pods:       []allocations.Pod{pod("p", finished)},
				PodsSynced: true,
				Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")},
			},
			del: []growth.PodUID{"uid-p"},
		},
		"the pod is gone": {
			snapshot: allocations.Snapshot{
				PodsSynced: true, Recorded: map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")},
				Slots: []slot.Folder{folder(time.Hour, "A/0")},
			},
			del: []growth.PodUID{"uid-p"}, remove: []string{slice.Slot([]string{"A/0"})},
		},
		"a pod of the same name is another pod": {
			snapshot: allocations.Snapshot{
				Devices: []kubelet.ContainerDevices{holds("p", "A/0")}, PodsSynced: true,
				Pods:     []allocations.Pod{pod("p", finished, func(p *allocations.Pod) { p.Ref.UID = "uid-before" }), pod("p")},
				Recorded: map[growth.PodUID]bus.Allocation{"uid-before": recorded("p", "A/0"), "uid-p": recorded("p", "A/0")},
			},
			del: []growth.PodUID{"uid-before"},
		},
		"its ids are in other hands": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("q", "A/0")},
				Pods:       []allocations.Pod{pod("p"), pod("q")},
				PodsSynced: true,
				Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0"), "uid-q": recorded("q", "A/0")},
			},
			del: []growth.PodUID{"uid-p"},
		},
		"nothing is destroyed while the pods are not known": {
			snapshot: allocations.Snapshot{
				Recorded: map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")},
				Slots:    []slot.Folder{folder(time.Hour, "A/0")},
			},
		},
		"a slot that was just handed out": {
			snapshot: allocations.Snapshot{PodsSynced: true, Slots: []slot.Folder{folder(time.Second, "A/0")}},
		},
		"an init container's slot, whose ids the next container uses": {
			snapshot: allocations.Snapshot{
				Devices: []kubelet.ContainerDevices{holds("p", "A/0")}, Pods: []allocations.Pod{pod("p")}, PodsSynced: true,
				Recorded: map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")},
				Slots:    []slot.Folder{folder(time.Hour, "A/0", "A/1")},
			},
		},
		"an init container's slot, whose ids nobody else uses": {
			snapshot: allocations.Snapshot{
				Pods:       []allocations.Pod{pod("p", func(p *allocations.Pod) { p.Containers[0].Init = true })},
				PodsSynced: true,
				Slots:      []slot.Folder{folder(time.Hour, "A/0", "A/1")},
			},
		},
		"a slot that does not say what it is, and is held": {
			snapshot: allocations.Snapshot{
				Devices: []kubelet.ContainerDevices{holds("p", "A/0")}, Pods: []allocations.Pod{pod("p")}, PodsSynced: true,
				Recorded: map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")},
				Slots:    []slot.Folder{{Name: slice.Slot([]string{"A/0"})}, {Name: slice.Slot([]string{"A/1"})}},
			},
			remove: []string{slice.Slot([]string{"A/1"})},
		},
		"kubelet's ids make no sense": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "nonsense")},
				Pods:       []allocations.Pod{pod("p")},
				PodsSynced: true,
			},
			pending: 1,
		},
		"another plugin's pod, on the GPU that its annotation names": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "X-_-0")},
				Pods:       []allocations.Pod{pod("p", numbered(1))},
				PodsSynced: true,
			},
			write: []bus.Allocation{imported("p", "X-_-0")},
		},
		"another plugin's pod, on a GPU that is not there": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "X-_-0")},
				Pods:       []allocations.Pod{pod("p", numbered(2))},
				PodsSynced: true,
			},
			pending: 1,
		},
		"another plugin's pod is written down already": {
			snapshot: allocations.Snapshot{
				Devices:    []kubelet.ContainerDevices{holds("p", "X-_-0")},
				Pods:       []allocations.Pod{pod("p", numbered(1))},
				PodsSynced: true,
				Recorded:   map[growth.PodUID]bus.Allocation{"uid-p": imported("p", "X-_-0")},
			},
		},
		"another plugin's pod has ended": {
			snapshot: allocations.Snapshot{
				Pods: []allocations.Pod{pod("p", numbered(1), finished)}, PodsSynced: true,
				Recorded: map[growth.PodUID]bus.Allocation{"uid-p": imported("p", "X-_-0")},
			},
			del: []growth.PodUID{"uid-p"},
		},
	} {
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

func TestDemands(t *testing.T) {
	created := time.Unix(7, 0)
	reservation := bus.Reservation{
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
	main := slice.Key{Pod: "uid-p", Container: "main"}
	for name, tc := range map[string]struct {
		pods         []allocations.Pod
		reservations map[growth.PodUID]bus.Reservation
		settled      map[slice.Key]struct{}
		want         []slice.Demand
	}{
		"a pod with its reservation": {
			pods: []allocations.Pod{pod("p")}, reservations: map[growth.PodUID]bus.Reservation{"uid-p": reservation},
			want: []slice.Demand{{
				Pod:       "uid-p",
				Container: "main",
				Units:     2,
				Count:     1,
				Room:      2,
				GPUs:      []growth.GPU{"B"},
			}},
		},
		"its reservation is not seen yet, but its Binding named the GPU": {
			pods: []allocations.Pod{pod("p", func(p *allocations.Pod) { p.Planned = []growth.GPU{"A"} })},
			want: []slice.Demand{{
				Pod:       "uid-p",
				Container: "main",
				Units:     2,
				Count:     1,
				Room:      2,
				GPUs:      []growth.GPU{"A"},
			}},
		},
		"its reservation was moved since it was bound": {
			pods:         []allocations.Pod{pod("p", func(p *allocations.Pod) { p.Planned = []growth.GPU{"A"} })},
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
		"the annotation names more GPUs than the pod may have": {
			pods: []allocations.Pod{pod("p", func(p *allocations.Pod) { p.Planned = []growth.GPU{"A", "B"} })},
			want: []slice.Demand{{
				Pod:       "uid-p",
				Container: "main",
				Units:     2,
				Count:     1,
				Room:      2,
			}},
		},
		"a pod bound without the extender": {
			pods: []allocations.Pod{pod("p", func(p *allocations.Pod) { p.Count = 2 })},
			want: []slice.Demand{{
				Pod:       "uid-p",
				Container: "main",
				Units:     2,
				Count:     2,
				Room:      2,
			}},
		},
		"a reservation whose pod is not seen yet": {
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
		"it has what it asked for": {
			pods: []allocations.Pod{pod("p")}, reservations: map[growth.PodUID]bus.Reservation{"uid-p": reservation},
			settled: map[slice.Key]struct{}{main: {}},
		},
		"it has ended, and its reservation lingers": {
			pods:         []allocations.Pod{pod("p", finished)},
			reservations: map[growth.PodUID]bus.Reservation{"uid-p": reservation},
		},
		"containers need room for those after them": {
			pods: []allocations.Pod{pod("p", func(p *allocations.Pod) {
				p.Containers = []allocations.Container{{
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
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, allocations.Demands(tc.pods, tc.reservations, tc.settled))
		})
	}
}

// What is written down is compared field by field: a new field has to be.
func TestSame_ComparesEveryField(t *testing.T) {
	require.Equal(t, 4, reflect.TypeFor[bus.ContainerAllocation]().NumField(), "allocations.same must know it")
}
