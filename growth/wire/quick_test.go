package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const usual = `{"v":1,"type":"progress","step":1200,"epoch":3,"total_steps":5000,"metrics":{"loss":0.3125,"accuracy":0.91},"steps":10,"samples":640,` +
	`"step_seconds":0.0213,"load_seconds":1.5e-05,"batch_size":64,"loaders":2,` +
	`"batch":{"default":32,"min":8,"max":256,"learning_rate":"square-root"},` +
	`"gradients":{"count":1,"small":64,"small_squared":0.5,"large":128,"large_squared":0.3},"gpu_memory_mib":900,"rank":3,"local_rank":1,"world_size":8}`

func TestQuick_ReadsTheUsualReport(t *testing.T) {
	var p Progress
	require.True(t, new(Decoder).Report([]byte(usual+"\n"), &p))
	two, batch := 2, 64
	require.Equal(t, Progress{
		Step: 1200, Epoch: 3, TotalSteps: 5000, Metrics: Metrics{{Name: "loss", Value: .3125}, {Name: "accuracy", Value: .91}}, Steps: 10, Samples: 640,
		StepSeconds: .0213, LoadSeconds: 1.5e-05, BatchSize: &batch, Loaders: &two,
		Batch:     &Batch{Default: 32, Min: 8, Max: 256, LearningRate: "square-root"},
		Gradients: &Gradients{Count: 1, Small: 64, SmallSquared: .5, Large: 128, LargeSquared: .3}, GPUMemory: 900,
		Process: Process{Rank: new(3), LocalRank: new(1), WorldSize: 8},
	}, p)
}

func TestQuick_LeavesOtherLinesToEncodingJSON(t *testing.T) {
	for name, line := range map[string]string{
		"spaces":                      `{"v":1,"type":"progress", "step":1}`,
		"another order":               `{"type":"progress","v":1,"step":1}`,
		"a newer field":               `{"v":1,"type":"progress","step":1,"mood":"good"}`,
		"an escape":                   `{"v":1,"type":"progress","step":1,"metrics":{"l\u006fss":1}}`,
		"null":                        `{"v":1,"type":"progress","step":1,"loaders":null}`,
		"a metric that is not finite": `{"v":1,"type":"progress","step":1,"metrics":{"loss":"nan"}}`,
		"a name that is not ASCII":    `{"v":1,"type":"progress","step":1,"metrics":{"Verlüst":1}}`,
		"a newer rule":                `{"v":1,"type":"progress","step":1,"batch":{"default":8,"min":1,"max":64,"learning_rate":"cube"}}`,
		"a newer field of the range":  `{"v":1,"type":"progress","step":1,"batch":{"default":8,"min":1,"max":64,"step":8}}`,
		"a field in capitals":         `{"v":1,"type":"progress","Step":1}`,
	} {
		require.False(t, new(Decoder).Report([]byte(line), &Progress{}), name)
		_, err := Decode([]byte(line))
		require.NoError(t, err, name)
	}
	for _, line := range []string{
		`{"v":1,"type":"progress","step":01}`, `{"v":1,"type":"progress","step":1.5}`, `{"v":1,"type":"progress","step":-1}`, `{"v":1,"type":"progress","step":}`,
		`{"v":1,"type":"progress","step":1,}`, `{"v":1,"type":"progress","step":1}}`, `{"v":1,"type":"progress","step":1`, `{"v":1,"type":"progress",,"step":1}`,
		`{"v":1,"type":"progress","metrics":{,"a":1}}`, `{"v":1,"type":"progress","metrics":{"a":1,}}`, `{"v":1,"type":"progress","metrics":{"a":NaN}}`,
		`{"v":1,"type":"progress","metrics":{"a":.5}}`, `{"v":1,"type":"progress","metrics":{"a":1e999}}`, `{"v":1,"type":"progress","step":12345678901234567890}`,
	} {
		require.False(t, new(Decoder).Report([]byte(line), &Progress{}), line)
		_, err := Decode([]byte(line))
		require.ErrorIs(t, err, ErrMalformed, line)
	}
}

// FuzzQuick compares quick with encoding/json.
func FuzzQuick(f *testing.F) {
	f.Add([]byte(usual))
	f.Add([]byte(`{"v":1,"type":"progress","metrics":{"a":-0.0,"a":1E+2},"metrics":{},"step":0,"step":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var p Progress
		if !new(Decoder).Report(line, &p) {
			return
		}
		decoded, err := Decode(line)
		require.NoError(t, err, "%s", line)
		p.Metrics = sorted(p.Metrics)
		require.Equal(t, decoded, Message(p), "%s", line)
		var whole struct {
			envelope
			Progress
		}
		require.NoError(t, json.Unmarshal(line, &whole), "%s", line)
		require.Equal(t, envelope{Version: Version, Type: "progress"}, whole.envelope)
		require.Equal(t, whole.Progress, p, "%s", line)
	})
}

// sorted returns metrics in the order in which Decode returns them.
func sorted(m Metrics) Metrics {
	slices.SortFunc(m, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return m
}

// Reports share the names of their metrics, and nothing else.
func TestDecoder_ReportsAreIndependent(t *testing.T) {
	var d Decoder
	var first, second Progress
	require.True(t, d.Report([]byte(usual), &first))
	require.True(t, d.Report([]byte(`{"v":1,"type":"progress","step":1,"metrics":{"loss":7}}`), &second))
	require.Equal(t, Progress{Step: 1, Metrics: Metrics{{Name: "loss", Value: 7}}}, second)
	second.Metrics.Set("accuracy", 1)
	require.Equal(t, Metrics{{Name: "loss", Value: .3125}, {Name: "accuracy", Value: .91}}, first.Metrics)
	require.True(t, d.Report([]byte(`{"v":1,"type":"progress","step":2}`), &second))
	require.Equal(t, Progress{Step: 2}, second, "nothing of the report before")
	for i := range 10 * maxNames {
		require.True(t, d.Report(fmt.Appendf(nil, `{"v":1,"type":"progress","metrics":{"m%d":1}}`, i), &second))
	}
	require.Len(t, d.names, maxNames)
	require.False(t, d.Report([]byte(`{"v":1,"type":"progress","step":1,"metrics":{"":7}}`), &second), "out of range")
}

func BenchmarkDecode(b *testing.B) {
	var d Decoder
	var p Progress
	b.ReportAllocs()
	for b.Loop() {
		if !d.Report([]byte(usual), &p) {
			b.Fatal("not decoded")
		}
	}
}
