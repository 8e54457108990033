package slice_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

func TestParse_RoundTrip(t *testing.T) {
	for _, gpu := range []growth.GPU{"GPU-1", "GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76", "MIG-GPU-1/7/0"} {
		got, n, err := slice.Parse(slice.ID(gpu, 12))
		require.NoError(t, err)
		require.Equal(t, gpu, got)
		require.Equal(t, 12, n)
	}
}

func TestParse_RejectsInvalidIDs(t *testing.T) {
	for _, id := range []string{"", "/", "/1", "GPU-1", "GPU-1/", "GPU-1/x", "GPU-1/-1", "GPU-1/01", "GPU-1/+1",
		"GPU-1/4096", strings.Repeat("G", 70) + "/1"} {
		_, _, err := slice.Parse(id)
		require.Error(t, err, "%q", id)
	}
}

func TestUnits_RoundsDown(t *testing.T) {
	for name, tc := range map[string]struct {
		memory, unit growth.MiB
		want         int
	}{
		"an H200 in GiB":       {143771, growth.GiB, 140},
		"exactly":              {24 * growth.GiB, growth.GiB, 24},
		"less than a unit":     {512, growth.GiB, 0},
		"a unit of zero":       {1024, 0, 0},
		"a GPU without memory": {0, growth.GiB, 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, slice.Units(tc.memory, tc.unit))
			require.Len(t, slice.IDs("GPU-1", tc.want), tc.want)
		})
	}
}

func TestCheckSize_ExplainsInvalidUnit(t *testing.T) {
	require.NoError(t, slice.CheckSize("GPU-1", 143771, growth.GiB))
	require.ErrorContains(t, slice.CheckSize("GPU-1", 512, growth.GiB), "smaller --memory-unit")
	require.ErrorContains(t, slice.CheckSize("GPU-1", 143771, 1), "larger --memory-unit")
	require.ErrorContains(t, slice.CheckSize(growth.GPU(strings.Repeat("G", 62)), 143771, growth.GiB), "too long")
}

func TestSpread(t *testing.T) {
	parts, err := slice.Spread([]string{"B/1", "A/3", "B/0"})
	require.NoError(t, err)
	require.Equal(t, []slice.Part{{GPU: "A", Units: 1}, {GPU: "B", Units: 2}}, parts)
	require.False(t, slice.Even(parts))
	require.Equal(t, []growth.GPUShare{{
		GPU:    "A",
		Memory: 1024,
	}, {
		GPU:    "B",
		Memory: 2048,
	}}, slice.Shares(parts, growth.GiB))

	_, err = slice.Spread([]string{"A/1", "A/1"})
	require.ErrorContains(t, err, "twice")
	_, err = slice.Spread([]string{"no-id"})
	require.ErrorContains(t, err, "no-id")
}

func TestSlot_DependsOnTheSetOfIDs(t *testing.T) {
	slot := slice.Slot([]string{"A/1", "A/2"})
	require.Equal(t, slot, slice.Slot([]string{"A/2", "A/1", "A/1"}), "order and repetition do not matter")
	require.True(t, slice.IsSlot(slot))
	for _, other := range [][]string{nil, {"A/1"}, {"A/12"}, {"A/1", "A/2", "A/3"}} {
		require.NotEqual(t, slot, slice.Slot(other))
	}
	require.Equal(t, "82c8d1a6", slice.Slot([]string{"GPU-1/0"})[:8], "a change would orphan the slots of running jobs")
	for _, name := range []string{"", "..", "lost+found", strings.ToUpper(slot) + "F", slot[1:], slot + "00"} {
		require.False(t, slice.IsSlot(name), name)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("GPU-1/3")
	f.Add("MIG-GPU-1/7/0/3")
	f.Add("/")
	f.Fuzz(func(t *testing.T, id string) {
		gpu, n, err := slice.Parse(id)
		if err == nil {
			require.Equal(t, id, slice.ID(gpu, n))
		}
		require.True(t, slice.IsSlot(slice.Slot([]string{id})))
	})
}
