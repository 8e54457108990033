package gpushare_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestParseMemory(t *testing.T) {
	for value, want := range map[string]growth.MiB{
		"8Gi": 8192, "8": 8192, "500Mi": 500, "1.5Gi": 1536, "1Ki": 1, "0.5": 512, "2G": 1908, "1Ti": 1 << 20,
	} {
		got, err := gpushare.ParseMemory(value)
		require.NoError(t, err, value)
		require.Equal(t, want, got, value)
	}
	for _, invalid := range []string{
		"", "-8Gi", "0", "0Gi", "8GB", "Gi", "eight", "8 Gi", "1e9", "99999999999999999999", "2Ti", "NaN", "1/2", "--1", "8Gii", "0x10",
	} {
		_, err := gpushare.ParseMemory(invalid)
		require.Error(t, err, invalid)
	}
}

// The test writes each integer as a fraction too, which takes another code path.
func TestParseMemory_FractionsAgreeWithIntegers(t *testing.T) {
	for _, suffix := range []string{"", "k", "Ki", "M", "Mi", "G", "Gi", "T", "Ti"} {
		for _, whole := range []string{"0", "1", "7", "999", "1024", "1048575", "1048576", "1048577", "8589934592", "922337203685477580"} {
			want, wantErr := gpushare.ParseMemory(whole + ".0" + suffix)
			got, err := gpushare.ParseMemory(whole + suffix)
			require.Equal(t, want, got, whole+suffix)
			require.Equal(t, wantErr, err, whole+suffix)
		}
	}
}

func TestUnits_RoundUp(t *testing.T) {
	require.Equal(t, 8, gpushare.Units(8192, growth.GiB))
	require.Equal(t, 1, gpushare.Units(500, growth.GiB))
	require.Equal(t, 2, gpushare.Units(1025, growth.GiB))
}

func TestParse_Valid(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		check       func(*testing.T, gpushare.Spec)
	}{
		"memory alone gets the defaults": {
			annotations: map[string]string{gpushare.MemoryAnnotation: "8Gi"},
			check: func(t *testing.T, w gpushare.Spec) {
				require.Equal(t, gpushare.Spec{
					Memory: 8192, Count: 1, Metric: "loss", Direction: growth.Minimize, DirectionFrom: gpushare.DirectionKnown,
					Progress: gpushare.Progress{Source: gpushare.FromSocket},
					Tune:     []gpushare.Knob{gpushare.TuneCPU, gpushare.TuneLoaders, gpushare.TuneGPUTime},
				}, w)
			},
		},
		"an accuracy in the log": {
			annotations: map[string]string{
				gpushare.MemoryAnnotation: "2", gpushare.MetricAnnotation: "accuracy:max", gpushare.ProgressAnnotation: `log:acc=([0-9.]+)`,
			},
			check: func(t *testing.T, w gpushare.Spec) {
				require.Equal(t, growth.Maximize, w.Direction)
				require.Equal(t, gpushare.FromLog, w.Progress.Source)
				require.Equal(t, "0.5", w.Progress.Pattern.FindStringSubmatch("acc=0.5")[1])
			},
		},
		"no knob may be turned": {
			annotations: map[string]string{gpushare.MemoryAnnotation: "2", gpushare.TuneAnnotation: "none"},
			check: func(t *testing.T, w gpushare.Spec) {
				require.False(t, w.Allows(gpushare.TuneCPU))
				require.False(t, w.Allows(gpushare.TuneLoaders))
			},
		},
		"two GPUs": {
			annotations: map[string]string{gpushare.MemoryAnnotation: "2", gpushare.CountAnnotation: "2", gpushare.CoresAnnotation: "50%"},
			check: func(t *testing.T, w gpushare.Spec) {
				require.Equal(t, 2, w.Count)
				require.Equal(t, 50, w.Cores)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := gpushare.Parse(tc.annotations)
			require.NoError(t, err)
			tc.check(t, w)
		})
	}
}

func TestParse_NamesTheInvalidAnnotation(t *testing.T) {
	for annotation, values := range map[string][]string{
		gpushare.MemoryAnnotation:   {"-1", "lots", "0", "9999Ti", ""},
		gpushare.CountAnnotation:    {"0", "-1", "two", "65"},
		gpushare.CoresAnnotation:    {"0", "101", "half"},
		gpushare.MetricAnnotation:   {"loss:down", ":min", "a b:min"},
		gpushare.ProgressAnnotation: {"carrier-pigeon", "log:", "log:loss=[", "log:loss", "file:relative", "file:/a/../b"},
		gpushare.TuneAnnotation:     {"weights", "loaders,", "loaders,nothing"},
	} {
		for _, value := range values {
			annotations := map[string]string{gpushare.MemoryAnnotation: "1"}
			annotations[annotation] = value
			_, err := gpushare.Parse(annotations)
			require.ErrorContains(t, err, annotation, "%s=%q", annotation, value)
		}
	}
	_, err := gpushare.Parse(nil)
	require.ErrorContains(t, err, "missing")
}

func FuzzParse(f *testing.F) {
	f.Add("8Gi", "1", "loss:min", "log:x=(.)", "loaders")
	f.Add("-8", "", "", "file:/x", "none")
	f.Fuzz(func(t *testing.T, memory, count, metric, progress, tune string) {
		w, err := gpushare.Parse(map[string]string{
			gpushare.MemoryAnnotation: memory, gpushare.CountAnnotation: count, gpushare.MetricAnnotation: metric,
			gpushare.ProgressAnnotation: progress, gpushare.TuneAnnotation: tune,
		})
		if err == nil && (w.Memory <= 0 || w.Count <= 0 || w.Metric == "") {
			t.Fatalf("accepted invalid: %+v", w)
		}
	})
}

func TestParseGPUs(t *testing.T) {
	for list, want := range map[string][]growth.GPU{
		"":                   nil,
		"GPU-a":              {"GPU-a"},
		"GPU-b, GPU-a":       {"GPU-b", "GPU-a"},
		",GPU-a,,GPU-a, \t,": {"GPU-a"},
	} {
		require.Equal(t, want, gpushare.ParseGPUs(list), list)
		require.Equal(t, want, gpushare.ParseGPUs(gpushare.FormatGPUs(want)), list)
	}
}
