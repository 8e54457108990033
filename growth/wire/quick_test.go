package wire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

const usual = `{"v":1,"type":"progress","step":1200,"epoch":3,"total_steps":5000,"metrics":{"loss":0.3125,"accuracy":0.91},"steps":10,"samples":640,` +
	`"step_seconds":0.0213,"load_seconds":1.5e-05,"batch_size":64,"loaders":2,"rank":3,"local_rank":1,"world_size":8}`

func TestQuick_ReadsTheUsualReport(t *testing.T) {
	p, ok := quick([]byte(usual))
	require.True(t, ok)
	two, batch := 2, 64
	require.Equal(t, Progress{
		Step: 1200, Epoch: 3, TotalSteps: 5000, Metrics: map[string]float64{"loss": .3125, "accuracy": .91}, Steps: 10, Samples: 640,
		StepSeconds: .0213, LoadSeconds: 1.5e-05, BatchSize: &batch, Loaders: &two,
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
		"a field in capitals":         `{"v":1,"type":"progress","Step":1}`,
	} {
		_, ok := quick([]byte(line))
		require.False(t, ok, name)
		_, err := Decode([]byte(line))
		require.NoError(t, err, name)
	}
	for _, line := range []string{
		`{"v":1,"type":"progress","step":01}`, `{"v":1,"type":"progress","step":1.5}`, `{"v":1,"type":"progress","step":-1}`, `{"v":1,"type":"progress","step":}`,
		`{"v":1,"type":"progress","step":1,}`, `{"v":1,"type":"progress","step":1}}`, `{"v":1,"type":"progress","step":1`, `{"v":1,"type":"progress",,"step":1}`,
		`{"v":1,"type":"progress","metrics":{,"a":1}}`, `{"v":1,"type":"progress","metrics":{"a":1,}}`, `{"v":1,"type":"progress","metrics":{"a":NaN}}`,
		`{"v":1,"type":"progress","metrics":{"a":.5}}`, `{"v":1,"type":"progress","metrics":{"a":1e999}}`, `{"v":1,"type":"progress","step":12345678901234567890}`,
	} {
		_, ok := quick([]byte(line))
		require.False(t, ok, line)
		_, err := Decode([]byte(line))
		require.ErrorIs(t, err, ErrMalformed, line)
	}
}

// FuzzQuick compares quick with encoding/json.
func FuzzQuick(f *testing.F) {
	f.Add([]byte(usual))
	f.Add([]byte(`{"v":1,"type":"progress","metrics":{"a":-0.0,"a":1E+2},"metrics":{},"step":0,"step":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		p, ok := quick(line)
		if !ok {
			return
		}
		var whole struct {
			envelope
			Progress
		}
		require.NoError(t, json.Unmarshal(line, &whole), "%s", line)
		require.Equal(t, envelope{Version: Version, Type: "progress"}, whole.envelope)
		require.Equal(t, whole.Progress, p, "%s", line)
	})
}

func BenchmarkDecode(b *testing.B) {
	for b.Loop() {
		if _, err := Decode([]byte(usual)); err != nil {
			b.Fatal(err)
		}
	}
}
