package aliyun_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
	"github.com/trellis-gpu/trellis/growth/placement"
)

const gib = growth.GiB

func TestAssignment_Annotations(t *testing.T) {
	assignment := aliyun.Assignment{
		Index:    3,
		Units:    10,
		GPUUnits: 80,
		Assumed:  time.Unix(1763663763, 5),
	}
	annotations := assignment.Annotations()
	require.Equal(t, map[string]string{
		"ALIYUN_COM_GPU_MEM_IDX": "3", "ALIYUN_COM_GPU_MEM_POD": "10", "ALIYUN_COM_GPU_MEM_DEV": "80",
		"ALIYUN_COM_GPU_MEM_ASSIGNED": "true", "ALIYUN_COM_GPU_MEM_ASSUME_TIME": "1763663763000000005",
	}, annotations)
	index, known := aliyun.Index(annotations)
	require.True(t, known)
	require.Equal(t, 3, index)
}

func TestIndex_RejectsInvalidValues(t *testing.T) {
	for name, annotations := range map[string]map[string]string{
		"no annotation": nil, "empty": idx(""), "the value for an unplaced pod": idx("-1"), "a word": idx("first"),
		"a list": idx("0,1"), "above the largest index": idx("1024"), "an overflow": idx("99999999999999999999"),
	} {
		_, known := aliyun.Index(annotations)
		require.False(t, known, name)
	}
}

func idx(value string) map[string]string {
	return map[string]string{"ALIYUN_COM_GPU_MEM_IDX": value}
}

func FuzzIndex(f *testing.F) {
	for _, seed := range []string{"0", "-1", "007", "1023", "1e3", " 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		n, known := aliyun.Index(idx(value))
		if known && (n < 0 || n >= 1024) {
			t.Fatalf("%q is GPU %d", value, n)
		}
		if again, same := aliyun.Index(idx(strconv.Itoa(n))); known && (!same || again != n) {
			t.Fatalf("%q is GPU %d, which is GPU %d", value, n, again)
		}
	})
}

func TestInspect_MatchesTheGoldenFile(t *testing.T) {
	inventory := bus.NodeGPUs{Unit: gib, GPUs: []bus.GPU{ // in the driver's order, which differs from the order of UUIDs
		{UUID: "GPU-z", Memory: 24*gib - 1, Healthy: true}, {UUID: "GPU-a", Memory: 16 * gib, Healthy: true},
	}}
	on := func(shares ...growth.GPUShare) bus.Allocation {
		return bus.Allocation{Containers: []bus.ContainerAllocation{{Name: "c", GPUs: shares}}}
	}
	node := placement.NewNode("node-1", placement.Records{Inventory: inventory, Allocations: map[growth.PodUID]bus.Allocation{
		"u1": on(growth.GPUShare{GPU: "GPU-z", Memory: 3 * gib}),
		"u2": on(growth.GPUShare{GPU: "GPU-z", Memory: 8 * gib}, growth.GPUShare{GPU: "GPU-a", Memory: 8 * gib}),
	}})
	named := func(pod growth.PodUID) growth.PodRef {
		return map[growth.PodUID]growth.PodRef{
			"u1": {Namespace: "vision", Name: "binpack-1"}, "u2": {Namespace: "speech", Name: "pair-0"},
		}[pod]
	}
	got, err := json.MarshalIndent(aliyun.Inspection{Nodes: []aliyun.Node{aliyun.Inspect(node, inventory, named)}}, "", "  ")
	require.NoError(t, err)
	golden, err := os.ReadFile(filepath.Join("testdata", "inspect.json"))
	require.NoError(t, err)
	require.Equal(t, string(golden), string(got)+"\n")
}

func TestDeviceIndex(t *testing.T) {
	inventory := bus.NodeGPUs{
		Unit: gib,
		GPUs: []bus.GPU{{UUID: "GPU-z", Memory: 24*gib - 1}, {UUID: "GPU-a", Memory: 16 * gib}},
	}
	index, units, known := aliyun.DeviceIndex(inventory, "GPU-a")
	require.Equal(t, []any{1, 16, true}, []any{index, units, known})
	_, units, _ = aliyun.DeviceIndex(inventory, "GPU-z")
	require.Equal(t, 23, units, "an incomplete unit is not advertised")
	_, _, known = aliyun.DeviceIndex(inventory, "GPU-x")
	require.False(t, known)
	_, units, _ = aliyun.DeviceIndex(bus.NodeGPUs{GPUs: inventory.GPUs}, "GPU-a")
	require.Zero(t, units, "an inventory without a unit")
}
