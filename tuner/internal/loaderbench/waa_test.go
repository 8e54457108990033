package loaderbench

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// application is what the published allocators know of a job.
type application struct {
	// gpu is the throughput per device if loading takes no time, loader that of one loader, in samples/s.
	gpu, loader float64
	// devices is the number of its devices.
	devices int
}

func (a application) need() float64 { return a.gpu / a.loader }

// bySpeed returns the indices of the applications, the fastest first.
func bySpeed(apps []application) []int {
	return ordered(apps, func(a, b application) int { return cmp.Compare(b.gpu, a.gpu) })
}

func ordered(apps []application, compare func(a, b application) int) []int {
	order := make([]int, len(apps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(apps[a], apps[b]) })
	return order
}

// cores returns the workers of all devices.
func cores(apps []application, perDevice []int) int {
	total := 0
	for i, a := range apps {
		total += a.devices * perDevice[i]
	}
	return total
}

// waaMultiNode is the allocator of A-Dloader for several nodes, to the letter, in loaders per device. It may exceed the budget.
func waaMultiNode(apps []application, budget int) []int {
	wanted := make([]int, len(apps))
	for i, a := range apps {
		wanted[i] = int(a.need()) + 1 + 1
	}
	all := cores(apps, wanted)
	order := bySpeed(apps)
	given := make([]int, len(apps))
	if all > budget {
		for i := 0; cores(apps, given) < budget; i++ {
			if app := order[i%len(order)]; given[app] < wanted[app] {
				given[app]++
			}
		}
		return given
	}
	for i, a := range apps {
		share := float64(wanted[i]*a.devices) / float64(all)
		given[i] = int(share * float64(budget) / float64(a.devices))
	}
	for i := 0; cores(apps, given) < budget; i++ {
		given[order[i%len(order)]]++
	}
	return given
}

// waaSingleNode is the older allocator of A-Dloader for one node, in loaders per device. It gives each application one at
// least, and then exceeds the budget.
func waaSingleNode(apps []application, budget int) []int {
	given := make([]int, len(apps))
	for i, a := range apps {
		given[i] = int(a.need()) + 1
	}
	overshoot := func(a application) float64 { return float64(int(a.need())+1) - a.need() }
	order := ordered(apps, func(a, b application) int { return cmp.Compare(overshoot(b), overshoot(a)) })
	for i := 0; cores(apps, given) > budget && slices.Max(given) > 1; i++ {
		if app := order[i%len(order)]; given[app] > 1 {
			given[app]--
		}
	}
	return given
}

// evenSplit gives each application the same number of cores. What cannot be split goes to the first ones.
func evenSplit(apps []application, budget int) []int {
	given := make([]int, len(apps))
	for i, a := range apps {
		given[i] = budget / len(apps) / a.devices
	}
	for i, a := range apps {
		if cores(apps, given)+a.devices <= budget {
			given[i]++
		}
	}
	return given
}

// TestPublishedExample has the published sample: vgg13, resnet26 and vgg61 on the same two GPUs.
func TestPublishedExample(t *testing.T) {
	const loader = 125.8 // samples/s that one loader adds to a device, of two
	apps := []application{{gpu: 88, loader: loader, devices: 2}, {gpu: 323, loader: loader, devices: 2}, {gpu: 735, loader: loader, devices: 2}}
	total := func(perDevice []int) []int {
		return []int{2 * perDevice[0], 2 * perDevice[1], 2 * perDevice[2]}
	}
	require.InDeltaSlice(t, []float64{.70, 2.57, 5.84}, []float64{apps[0].need(), apps[1].need(), apps[2].need()}, .005)
	require.Equal(t, []int{4, 6, 8}, total(waaMultiNode(apps, 18)))
	require.Equal(t, []int{6, 16, 26}, total(waaMultiNode(apps, 48)), "all cores, although 26 are enough")
	require.Equal(t, []int{2, 6, 12}, total(waaSingleNode(apps, 48)))
	require.Equal(t, []int{2, 4, 12}, total(waaSingleNode(apps, 18)))
	require.Equal(t, []int{6, 6, 6}, total(evenSplit(apps, 18)))
}

func TestPublishedAllocators_ExceedTheBudget(t *testing.T) {
	wide := []application{{gpu: 300, loader: 100, devices: 3}, {gpu: 200, loader: 100, devices: 3}}
	require.Equal(t, 9, cores(wide, waaMultiNode(wide, 7)), "by up to the devices of a job, less one")
	require.Equal(t, 6, cores(wide, waaSingleNode(wide, 4)), "with one for each device")
	require.LessOrEqual(t, cores(wide, evenSplit(wide, 7)), 7)
}
