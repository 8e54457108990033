package gpuuse_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpuuse"
)

const second = 1_000_000

// podOf knows the processes 10 and 11 of pod a, and 20 of pod b.
func podOf(pid int) (growth.PodUID, bool) {
	pod, ok := map[int]growth.PodUID{10: "a", 11: "a", 20: "b"}[pid]
	return pod, ok
}

func TestMeter(t *testing.T) {
	type sample = gpuuse.Sample
	for name, tc := range map[string]struct {
		rounds [][]sample // one for each 2 s
		want   map[growth.PodUID]growth.Seconds
	}{
		"one process, all the time": {
			[][]sample{{{10, 10 * second, 100}}, {{10, 11 * second, 100}, {10, 12 * second, 100}}},
			map[growth.PodUID]growth.Seconds{"a": 3},
		},
		"the first sample describes at most a second": {
			[][]sample{{{10, 90 * second, 50}}},
			map[growth.PodUID]growth.Seconds{"a": 0.5},
		},
		"a sample that is read twice counts once": {
			[][]sample{{{10, 10 * second, 100}}, {{10, 10 * second, 100}}, {{10, 10*second + 250_000, 100}}},
			map[growth.PodUID]growth.Seconds{"a": 1.25},
		},
		"a process that was idle for a while": {
			[][]sample{{{10, 10 * second, 100}}, {{20, 12 * second, 10}}, {{10, 20 * second, 40}}},
			map[growth.PodUID]growth.Seconds{"a": 1.4, "b": 0.1},
		},
		"two processes of a pod": {
			[][]sample{{{10, 10 * second, 30}, {11, 10 * second, 20}}},
			map[growth.PodUID]growth.Seconds{"a": 0.5},
		},
		"samples in any order": {
			[][]sample{{{10, 12 * second, 0}, {10, 11 * second, 100}}},
			map[growth.PodUID]growth.Seconds{"a": 1},
		},
		"not more than the time that has passed": {
			[][]sample{{{10, 10 * second, 100}, {11, 10 * second, 100}, {20, 10 * second, 100}}},
			map[growth.PodUID]growth.Seconds{"a": 4. / 3, "b": 2. / 3},
		},
		"processes outside pods, and invalid percentages": {
			[][]sample{{{99, 10 * second, 100}, {10, 10 * second, -5}, {20, 10 * second, 4_000_000}}},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var m gpuuse.Meter
			for _, samples := range tc.rounds {
				m.Add(samples, 2, podOf)
			}
			require.Len(t, m.Busy(), len(tc.want))
			for _, u := range m.Busy() {
				require.InDelta(t, float64(tc.want[u.Pod]), float64(u.Busy), 1e-9, u.Pod)
			}
		})
	}
}

func TestMeter_ForgetsPods(t *testing.T) {
	var m gpuuse.Meter
	m.Add([]gpuuse.Sample{{10, second, 100}, {20, second, 100}}, 2, podOf)
	m.Keep(func(pod growth.PodUID) bool { return pod == "b" })
	require.Equal(t, []gpuuse.Use{{Pod: "b", Busy: 1}}, m.Busy())
}

func TestDecode(t *testing.T) {
	record := gpuuse.Record{
		Uptime: 100,
		GPUs:   []gpuuse.GPU{{UUID: "GPU-a", Uses: []gpuuse.Use{{Pod: "a", Busy: 3, Processes: 1}}}},
		Memory: []gpuuse.Memory{{GPU: "MIG-b", Pod: "a", Used: 700}},
	}
	content, err := gpuuse.Encode(record)
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		content string
		uptime  growth.Seconds
		err     string
	}{
		"as written":         {string(content), 103, ""},
		"too old":            {string(content), 130, "30 s old"},
		"of an earlier boot": {string(content), 20, "-80 s old"},
		"a newer version":    {`{"v":2}`, 0, "unknown record version"},
		"not JSON":           {"gpus", 0, "decoding"},
		"a negative time":    {`{"v":1,"gpus":[{"uuid":"GPU-a","uses":[{"pod":"a","busySeconds":-1}]}]}`, 0, "GPU-a by pod \"a\" is invalid"},
		"not a pod's UID":    {`{"v":1,"gpus":[{"uuid":"GPU-a","uses":[{"pod":"../a","busySeconds":1}]}]}`, 0, "is invalid"},
		"not a UUID":         {`{"v":1,"gpus":[{"uuid":"GPU a"}]}`, 0, "is invalid"},
		"a negative memory":  {`{"v":1,"memory":[{"gpu":"GPU-a","pod":"a","usedMiB":-1}]}`, 0, "memory on GPU \"GPU-a\" by pod \"a\" is invalid"},
		"too much memory":    {`{"v":1,"memory":[{"gpu":"GPU-a","pod":"a","usedMiB":17000000}]}`, 0, "is invalid"},
		"memory of no pod":   {`{"v":1,"memory":[{"gpu":"GPU-a","usedMiB":1}]}`, 0, "is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := gpuuse.Decode([]byte(tc.content), tc.uptime)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, record.GPUs, got.GPUs)
			require.Equal(t, record.Memory, got.Memory)
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"uptimeSeconds":5,"gpus":[{"uuid":"GPU-a","uses":[{"pod":"a","busySeconds":1e9,"processes":2}]}]}`))
	f.Add([]byte(`{"v":1,"uptimeSeconds":1e308,"gpus":[{}],"later":true}`))
	f.Add([]byte(`{"v":1,"uptimeSeconds":5,"gpus":[],"memory":[{"gpu":"MIG-a","pod":"a","usedMiB":5},{"usedMiB":-1}]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := gpuuse.Decode(content, 5)
		if err != nil {
			return
		}
		again, err := gpuuse.Encode(r)
		require.NoError(t, err)
		back, err := gpuuse.Decode(again, 5)
		require.NoError(t, err)
		require.Equal(t, r.GPUs, back.GPUs)
		require.Equal(t, r.Memory, back.Memory)
	})
}

// With any samples of the driver, the pods together use at most the time that has passed.
func FuzzMeter(f *testing.F) {
	f.Add(uint64(second), 50, uint64(2*second), 200, uint64(0), -1)
	f.Fuzz(func(t *testing.T, at1 uint64, percent1 int, at2 uint64, percent2 int, at3 uint64, percent3 int) {
		var m gpuuse.Meter
		for range 3 {
			m.Add([]gpuuse.Sample{{10, at1, percent1}, {11, at2, percent2}, {20, at3, percent3}}, 2, podOf)
		}
		sum := growth.Seconds(0)
		for _, u := range m.Busy() {
			require.GreaterOrEqual(t, u.Busy, growth.Seconds(0))
			sum += u.Busy
		}
		require.LessOrEqual(t, sum, growth.Seconds(6.001))
	})
}
