package allocations_test

import (
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

// forgot lists the pods of a kubelet that has lost its checkpoint.
func forgot(names ...string) []kubelet.PodName {
	var listed []kubelet.PodName
	for _, name := range names {
		listed = append(listed, kubelet.PodName{Namespace: "ns", Name: name})
	}
	return listed
}

func TestReconcile_ForgottenDevices(t *testing.T) {
	onBus := map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")}
	for name, tc := range map[string]struct {
		snapshot  allocations.Snapshot
		forgotten []slice.Holding
		put       []bus.Allocation
		del       []growth.PodUID
	}{
		"a running pod": {
			snapshot:  allocations.Snapshot{Listed: forgot("p"), Pods: []pods.Pod{pod("p", runs)}, Recorded: onBus},
			forgotten: []slice.Holding{holding("p", true, "A/0")},
		},
		"a running pod that the bus has lost too": {
			snapshot: allocations.Snapshot{
				Listed: forgot("p"), Pods: []pods.Pod{pod("p", runs)}, Slots: []slot.Dir{owned("p", "", time.Hour, "A/0")},
			},
			forgotten: []slice.Holding{holding("p", true, "A/0")},
			put:       []bus.Allocation{recorded("p", "A/0")},
		},
		"an init container, which kubelet never lists": {
			snapshot: allocations.Snapshot{
				Listed: forgot("p"), Pods: []pods.Pod{pod("p", runs, initOnly)}, Slots: []slot.Dir{owned("p", "", time.Hour, "A/0")},
			},
		},
		"kubelet has not listed its pods yet after a restart": {
			snapshot: allocations.Snapshot{Pods: []pods.Pod{pod("p", runs)}, Recorded: onBus},
		},
		"a pod whose container does not run gets other devices": {
			snapshot: allocations.Snapshot{Listed: forgot("p"), Pods: []pods.Pod{pod("p")}, Recorded: onBus},
		},
		"another pod got the devices of a running one": {
			snapshot: allocations.Snapshot{
				Listed: forgot("p", "q"), Pods: []pods.Pod{pod("p", runs), pod("q")}, Recorded: onBus,
				Devices: []kubelet.ContainerDevices{holds("q", "A/0")},
			},
			forgotten: []slice.Holding{holding("p", true, "A/0")},
			put:       []bus.Allocation{recorded("q", "A/0")},
		},
		"another pod got the devices of one that does not run": {
			snapshot: allocations.Snapshot{
				Listed: forgot("p", "q"), Pods: []pods.Pod{pod("p"), pod("q")}, Recorded: onBus,
				Devices: []kubelet.ContainerDevices{holds("q", "A/0")},
			},
			put: []bus.Allocation{recorded("q", "A/0")},
			del: []growth.PodUID{"uid-p"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.snapshot.PodsSynced, tc.snapshot.Unit, tc.snapshot.Now = true, growth.GiB, now
			c := allocations.Reconcile(tc.snapshot)
			require.Equal(t, tc.forgotten, c.Forgotten)
			require.Equal(t, tc.put, c.Put)
			require.Equal(t, tc.del, c.Delete)
			require.Empty(t, c.RemoveSlots)
		})
	}
}

// A restarted kubelet has allocated again for one container of a pod. The other one still runs with its old devices.
func TestReconcile_KeepsForgottenContainerOfListedPod(t *testing.T) {
	both := recorded("p", "A/0")
	side := bus.ContainerAllocation{
		Name: "side", GPUs: []growth.GPUShare{{GPU: "A", Memory: growth.GiB}}, IDs: []string{"A/1"}, Slot: slice.Slot([]string{"A/1"}),
	}
	both.Containers = append(both.Containers, side)
	p := pod("p")
	p.Containers = append(p.Containers, pods.Container{Name: "side", Units: 1, Running: true})
	c := allocations.Reconcile(allocations.Snapshot{
		Listed: forgot("p"), Devices: []kubelet.ContainerDevices{holds("p", "A/7")}, PodsSynced: true,
		Pods: []pods.Pod{p}, Recorded: map[growth.PodUID]bus.Allocation{"uid-p": both}, Unit: growth.GiB, Now: now,
	})
	want := recorded("p", "A/7")
	want.Containers = append(want.Containers, side)
	require.Equal(t, []bus.Allocation{want}, c.Put)
}

func TestReconcile_KeepsSlotOfForgottenContainer(t *testing.T) {
	c := allocations.Reconcile(allocations.Snapshot{
		Listed: forgot("p"), PodsSynced: true, Now: now,
		Pods:  []pods.Pod{pod("p", runs)}, // requests two units
		Slots: []slot.Dir{owned("p", "", time.Hour, "A/0"), owned("gone", "", time.Hour, "A/1")},
	})
	require.Equal(t, []string{slice.Slot([]string{"A/1"})}, c.RemoveSlots)
}

func TestReconcile_SlotOwners(t *testing.T) {
	for name, tc := range map[string]struct {
		slot  slot.Dir
		alive []func(*pods.Pod)
		want  bool
	}{
		"a slot of an older release":          {slot: slotDir(0, "A/0"), want: true},
		"a recorded slot":                     {slot: owned("p", "boot", 0, "A/0")},
		"the slot of an earlier pod":          {slot: owned("q", "boot", 0, "A/0"), want: true},
		"a container that runs after a boot":  {slot: owned("p", "before", 0, "A/0"), alive: []func(*pods.Pod){runs}, want: true},
		"a container that waits after a boot": {slot: owned("p", "before", 0, "A/0")},
		"a pod that has ended":                {slot: slotDir(0, "A/0"), alive: []func(*pods.Pod){finished}},
	} {
		t.Run(name, func(t *testing.T) {
			c := allocations.Reconcile(allocations.Snapshot{
				Devices: []kubelet.ContainerDevices{holds("p", "A/0")}, Pods: []pods.Pod{pod("p", tc.alive...)}, PodsSynced: true,
				Slots: []slot.Dir{tc.slot}, Boot: "boot", Now: now,
			})
			if !tc.want {
				require.Empty(t, c.Owners)
				return
			}
			require.Equal(t, map[string]slot.Owner{
				tc.slot.Name: {Pod: pod("p").Ref, Container: "main", Boot: "boot", Started: now},
			}, c.Owners)
		})
	}
}
