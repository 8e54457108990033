package allocations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

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
