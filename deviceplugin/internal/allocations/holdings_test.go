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

func runs(p *pods.Pod) { p.Containers[0].Running = true }

func initOnly(p *pods.Pod) { p.Containers[0].Init = true }

// owned returns a slot of the container main of a pod, which started some time ago.
func owned(name, boot string, started time.Duration, ids ...string) slot.Dir {
	dir := slotDir(time.Hour, ids...)
	dir.Owner = slot.Owner{Pod: pod(name).Ref, Container: "main", Boot: boot, Started: now.Add(-started)}
	return dir
}

func holding(name string, running bool, ids ...string) slice.Holding {
	return slice.Holding{
		Key:     slice.Key{Pod: pod(name).Ref.UID, Container: "main"},
		Name:    "ns/" + name,
		IDs:     ids,
		Running: running,
	}
}

// holdingsCase is one case of testHoldings.
type holdingsCase struct {
	snapshot allocations.Snapshot
	want     []slice.Holding
}

func testHoldings(t *testing.T, cases map[string]holdingsCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.snapshot.Boot = "boot"
			require.Equal(t, tc.want, tc.snapshot.Holdings())
		})
	}
}

func TestHoldings_Sources(t *testing.T) {
	onBus := map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")}
	testHoldings(t, map[string]holdingsCase{
		"the bus names a running pod that kubelet has forgotten": {
			snapshot: allocations.Snapshot{Pods: []pods.Pod{pod("p", runs)}, PodsSynced: true, Recorded: onBus},
			want:     []slice.Holding{holding("p", true, "A/0")},
		},
		"only a slot names it": {
			snapshot: allocations.Snapshot{
				Pods: []pods.Pod{pod("p", runs)}, PodsSynced: true, Slots: []slot.Dir{owned("p", "boot", 0, "A/1")},
			},
			want: []slice.Holding{holding("p", true, "A/1")},
		},
		"the latest slot counts before an earlier one and the bus": {
			snapshot: allocations.Snapshot{
				Pods: []pods.Pod{pod("p", runs)}, PodsSynced: true, Recorded: onBus,
				Slots: []slot.Dir{owned("p", "boot", time.Minute, "A/2"), owned("p", "boot", 0, "A/1"), owned("p", "boot", time.Hour, "A/3")},
			},
			want: []slice.Holding{holding("p", true, "A/1")},
		},
		"kubelet's list counts before both": {
			snapshot: allocations.Snapshot{
				Devices: []kubelet.ContainerDevices{holds("p", "A/5")},
				Pods:    []pods.Pod{pod("p", runs)}, PodsSynced: true, Recorded: onBus,
				Slots: []slot.Dir{owned("p", "boot", 0, "A/1")},
			},
			want: []slice.Holding{holding("p", true, "A/5")},
		},
		"a slot without an owner": {
			snapshot: allocations.Snapshot{
				Pods: []pods.Pod{pod("p", runs)}, PodsSynced: true, Slots: []slot.Dir{slotDir(0, "A/0")},
			},
		},
		"a slot with an owner and without ids": {
			snapshot: allocations.Snapshot{
				Pods: []pods.Pod{pod("p", runs)}, PodsSynced: true, Slots: []slot.Dir{owned("p", "boot", 0)},
			},
		},
	})
}

func TestHoldings_Pods(t *testing.T) {
	onBus := map[growth.PodUID]bus.Allocation{"uid-p": recorded("p", "A/0")}
	testHoldings(t, map[string]holdingsCase{
		"the pod has ended": {
			snapshot: allocations.Snapshot{Pods: []pods.Pod{pod("p", finished)}, PodsSynced: true, Recorded: onBus},
		},
		"the pod is gone": {snapshot: allocations.Snapshot{
			PodsSynced: true, Recorded: onBus, Slots: []slot.Dir{owned("p", "boot", 0, "A/0")},
		}},
		"another pod has its name": {snapshot: allocations.Snapshot{
			Pods: []pods.Pod{pod("p", withUID("uid-other"))}, PodsSynced: true, Recorded: onBus,
		}},
		"the container does not run": {
			snapshot: allocations.Snapshot{Pods: []pods.Pod{pod("p")}, PodsSynced: true, Recorded: onBus},
			want:     []slice.Holding{holding("p", false, "A/0")},
		},
		"the machine has rebooted, and the API server lags": {
			snapshot: allocations.Snapshot{
				Pods: []pods.Pod{pod("p", runs)}, PodsSynced: true, Slots: []slot.Dir{owned("p", "before", 0, "A/0")},
			},
			want: []slice.Holding{holding("p", false, "A/0")},
		},
		"the pods are not known yet": {
			snapshot: allocations.Snapshot{Recorded: onBus, Slots: []slot.Dir{owned("q", "before", 0, "A/1")}},
			want:     []slice.Holding{holding("p", true, "A/0"), holding("q", false, "A/1")},
		},
		"an init container": {
			snapshot: allocations.Snapshot{
				Pods: []pods.Pod{pod("p", runs, initOnly)}, PodsSynced: true, Slots: []slot.Dir{owned("p", "boot", 0, "A/0")},
			},
			want: []slice.Holding{func() slice.Holding {
				h := holding("p", true, "A/0")
				h.Init = true
				return h
			}()},
		},
		"another plugin's pod": {
			snapshot: allocations.Snapshot{
				Pods: []pods.Pod{pod("p", runs)}, PodsSynced: true,
				Recorded: map[growth.PodUID]bus.Allocation{"uid-p": imported("p", "X-_-0")},
			},
		},
	})
}
