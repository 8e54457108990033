package storm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/storm"
	"github.com/trellis-gpu/trellis/growth"
)

// agreed returns the records of a node with one living pod, and one ended pod that is still in kubelet's checkpoint.
func agreed() storm.Records {
	ids := []string{"GPU-left/0", "GPU-left/1"}
	return storm.Records{
		Living:      map[growth.PodUID]string{"uid-a": "a"},
		Checkpoint:  map[growth.PodUID][]string{"uid-a": ids, "uid-ended": {"GPU-left/7"}},
		Resources:   map[string][]string{"a": {"GPU-left/1", "GPU-left/0"}},
		Allocations: map[growth.PodUID][]string{"uid-a": ids},
		Slots:       [][]string{ids, {"GPU-left/7"}},
	}
}

func TestDrift_NoneIfTheRecordsAgree(t *testing.T) {
	require.Empty(t, storm.Drift(agreed()))
	require.Empty(t, storm.Drift(storm.Records{}))
}

func TestDrift_NamesEachDifference(t *testing.T) {
	other := []string{"GPU-right/3"}
	for name, tc := range map[string]struct {
		plant func(*storm.Records)
		want  string
	}{
		"kubelet does not have a pod": {
			func(b *storm.Records) { delete(b.Checkpoint, "uid-a") }, "a lives, and kubelet's checkpoint does not have it",
		},
		"kubelet disagrees with itself": {
			func(b *storm.Records) { b.Resources["a"] = other }, "a: kubelet's checkpoint has GPU-left/0 GPU-left/1, its API GPU-right/3",
		},
		"the bus has other ids": {
			func(b *storm.Records) { b.Allocations["uid-a"] = other }, "a: kubelet's checkpoint has GPU-left/0 GPU-left/1, the bus GPU-right/3",
		},
		"the bus does not have a pod": {
			func(b *storm.Records) { delete(b.Allocations, "uid-a") }, "a: kubelet's checkpoint has GPU-left/0 GPU-left/1, the bus nothing",
		},
		"the bus has not forgotten a pod": {
			func(b *storm.Records) { b.Allocations["uid-ended"] = other }, "the bus has GPU-right/3 for pod uid-ended, which does not live",
		},
		"kubelet lists a pod that has ended": {
			func(b *storm.Records) { b.Resources["ended"] = other }, "kubelet's API lists GPU-right/3 for ended, which does not live",
		},
		"a pod has no slot": {
			func(b *storm.Records) { b.Slots = b.Slots[1:] }, "a has no slot on disk",
		},
		"an old slot is left": {
			func(b *storm.Records) { b.Old = [][]string{{"GPU-left/7"}} }, "a slot of GPU-left/7 is left, which no pod holds",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := agreed()
			tc.plant(&b)
			require.Equal(t, []string{tc.want}, storm.Drift(b))
		})
	}
}

func TestDrift_OldSlotWithAHeldID(t *testing.T) {
	b := agreed()
	b.Old = [][]string{b.Slots[0], {"GPU-left/1", "GPU-left/2"}}
	require.Empty(t, storm.Drift(b))
}

func TestParseCheckpoint(t *testing.T) {
	held, err := storm.ParseCheckpoint([]byte(`{"Data":{"PodDeviceEntries":[
		{"PodUID":"uid-a","ContainerName":"main","ResourceName":"gpushare/gpu-mem","DeviceIDs":{"-1":["GPU-left/0","GPU-left/1"]},"AllocResp":"CgA="},
		{"PodUID":"uid-a","ContainerName":"other","ResourceName":"gpushare/gpu-mem","DeviceIDs":{"0":["GPU-right/5"]}},
		{"PodUID":"uid-b","ContainerName":"main","ResourceName":"example.org/card","DeviceIDs":{"-1":["7"]}}
	],"RegisteredDevices":{"gpushare/gpu-mem":["GPU-left/0"]}},"Checksum":1}`))
	require.NoError(t, err)
	require.Equal(t, map[growth.PodUID][]string{"uid-a": {"GPU-left/0", "GPU-left/1", "GPU-right/5"}}, held)
	require.Equal(t, storm.Share{left: 2 * growth.GiB, right: growth.GiB}, storm.ShareOf(held["uid-a"]))
	_, err = storm.ParseCheckpoint([]byte("half a file"))
	require.ErrorContains(t, err, "kubelet's checkpoint")
}
