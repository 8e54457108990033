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

// A new field must be added to same.
func TestSame_ComparesEveryField(t *testing.T) {
	fields := reflect.TypeFor[bus.ContainerAllocation]().NumField()
	require.Equal(t, 4, fields, "allocations.same must compare the new field")
}
