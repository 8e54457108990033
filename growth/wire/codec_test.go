package wire_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/wire"
)

func ptr[T any](v T) *T { return &v }

func TestDecode_InvertsEncode(t *testing.T) {
	for name, tc := range map[string]struct {
		message wire.Message
		line    string
	}{
		"progress": {
			wire.Progress{Step: 12, Metrics: wire.Metrics{{Name: "loss", Value: 0.5}}, Steps: 2, Samples: 128, StepSeconds: 0.25, LoadSeconds: 0.125, Loaders: ptr(0)},
			`{"v":1,"type":"progress","step":12,"metrics":{"loss":0.5},"steps":2,"samples":128,"step_seconds":0.25,"load_seconds":0.125,"loaders":0}`,
		},
		"describe": {
			wire.Describe{BatchSize: ptr(64), FLOPs: 4.1e9, Params: 25557032},
			`{"v":1,"type":"describe","batch_size":64,"flops":4100000000,"params":25557032}`,
		},
		"ack":    {wire.Ack{Generation: 3, Applied: wire.Values{Loaders: ptr(1)}}, `{"v":1,"type":"ack","generation":3,"applied":{"loaders":1}}`},
		"config": {wire.Config{Generation: 3, Values: wire.Values{Loaders: ptr(1)}}, `{"v":1,"type":"config","generation":3,"loaders":1}`},
		"duty":   {wire.Duty{Sequence: 4, Duty: 0.5}, `{"v":1,"type":"duty","sequence":4,"duty":0.5}`},
		"save":   {wire.Save{Reason: "move", DeadlineSeconds: 30}, `{"v":1,"type":"save","reason":"move","deadline_seconds":30}`},
		"saved": {
			wire.Saved{Path: "/ckpt/a.pt", SHA256: strings.Repeat("0f", 32), Step: 9},
			`{"v":1,"type":"saved","path":"/ckpt/a.pt","sha256":"` + strings.Repeat("0f", 32) + `","step":9}`,
		},
		"save by number":       {wire.Save{Reason: "user", DeadlineSeconds: 30, Request: 7}, `{"v":1,"type":"save","reason":"user","deadline_seconds":30,"request":7}`},
		"stop":                 {wire.Stop{Sequence: 3, Stop: true}, `{"v":1,"type":"stop","sequence":3,"stop":true}`},
		"stop after a step":    {wire.Stop{Sequence: 4, Stop: true, AfterStep: 120}, `{"v":1,"type":"stop","sequence":4,"stop":true,"after_step":120}`},
		"continue":             {wire.Stop{Sequence: 5}, `{"v":1,"type":"stop","sequence":5,"stop":false}`},
		"stopped":              {wire.Stopped{Sequence: 4, Step: 120, Stopped: true}, `{"v":1,"type":"stopped","sequence":4,"step":120,"stopped":true}`},
		"will stop, by rank 1": {wire.Stopped{Sequence: 4, Step: 117, Process: wire.Process{Rank: ptr(1)}}, `{"v":1,"type":"stopped","sequence":4,"step":117,"stopped":false,"rank":1}`},
		"failed":               {wire.Failed{Request: 7, Reason: "disk full"}, `{"v":1,"type":"failed","request":7,"reason":"disk full"}`},
		"nothing to save":      {wire.Failed{Request: 7, Nothing: true, Process: wire.Process{Rank: ptr(1)}}, `{"v":1,"type":"failed","request":7,"reason":"","nothing":true,"rank":1}`},
		"saved on request": {
			wire.Saved{Path: "/ckpt/a.pt", SHA256: strings.Repeat("0f", 32), Step: 9, Request: 7},
			`{"v":1,"type":"saved","path":"/ckpt/a.pt","sha256":"` + strings.Repeat("0f", 32) + `","step":9,"request":7}`,
		},
		"saved in an object store": {
			wire.Saved{Path: "s3://bucket/a.pt", SHA256: strings.Repeat("0f", 32), Step: 9},
			`{"v":1,"type":"saved","path":"s3://bucket/a.pt","sha256":"` + strings.Repeat("0f", 32) + `","step":9}`,
		},
		"progress of rank 0": {
			wire.Progress{Step: 12, Process: wire.Process{Rank: ptr(0), LocalRank: ptr(0), WorldSize: 8}},
			`{"v":1,"type":"progress","step":12,"rank":0,"local_rank":0,"world_size":8}`,
		},
		"ack of rank 5": {
			wire.Ack{Generation: 3, Process: wire.Process{Rank: ptr(5), WorldSize: 8}},
			`{"v":1,"type":"ack","generation":3,"applied":{},"rank":5,"world_size":8}`,
		},
		"saved by rank 0": {
			wire.Saved{Path: "/ckpt/a.pt", SHA256: strings.Repeat("0f", 32), Step: 9, Process: wire.Process{Rank: ptr(0)}},
			`{"v":1,"type":"saved","path":"/ckpt/a.pt","sha256":"` + strings.Repeat("0f", 32) + `","step":9,"rank":0}`,
		},
		"progress with gradients": {
			wire.Progress{
				Step: 12, BatchSize: ptr(32), Batch: &wire.Batch{Default: 64, Min: 16, Max: 512, LearningRate: "linear"},
				Gradients: &wire.Gradients{Count: 2, Small: 32, SmallSquared: 1.5, Large: 64, LargeSquared: 0.75}, GPUMemory: 1024,
			},
			`{"v":1,"type":"progress","step":12,"batch_size":32,"batch":{"default":64,"min":16,"max":512,"learning_rate":"linear"},` +
				`"gradients":{"count":2,"small":32,"small_squared":1.5,"large":64,"large_squared":0.75},"gpu_memory_mib":1024}`,
		},
		"infinite metrics": {
			wire.Progress{Step: 1, Metrics: wire.Metrics{{Name: "down", Value: math.Inf(-1)}, {Name: "loss", Value: 0.5}, {Name: "up", Value: math.Inf(1)}}},
			`{"v":1,"type":"progress","step":1,"metrics":{"down":"-inf","loss":0.5,"up":"inf"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			line, err := wire.Encode(tc.message)
			require.NoError(t, err)
			require.Equal(t, tc.line+"\n", string(line))
			back, err := wire.Decode(line)
			require.NoError(t, err)
			require.Equal(t, tc.message, back)
		})
	}
}

func TestDecode_ReadsMetricsThatAreNotNumbers(t *testing.T) {
	m, err := wire.Decode([]byte(`{"v":1,"type":"progress","step":1,"metrics":{"a":"nan","b":"NaN","c":"-Infinity","d":1}}`))
	require.NoError(t, err)
	metrics := m.(wire.Progress).Metrics
	require.Equal(t, []string{"a", "b", "c", "d"}, metrics.Names())
	require.True(t, math.IsNaN(metrics[0].Value) && math.IsNaN(metrics[1].Value))
	require.True(t, math.IsInf(metrics[2].Value, -1))
	require.Equal(t, 1.0, metrics[3].Value)
}

func TestDecode_RejectsInvalidLines(t *testing.T) {
	for name, line := range map[string]string{
		"garbage":                     `\x00\xff not json`,
		"an empty line":               ``,
		"a truncated line":            `{"v":1,"type":"progress","step":1`,
		"a future version":            `{"v":2,"type":"progress","step":1}`,
		"no version":                  `{"type":"progress","step":1}`,
		"a negative step":             `{"v":1,"type":"progress","step":-1}`,
		"a range without its default": `{"v":1,"type":"progress","step":1,"batch":{"default":8,"min":16,"max":64}}`,
		"a range from 0":              `{"v":1,"type":"progress","step":1,"batch":{"default":8,"min":0,"max":64}}`,
		"a huge range":                `{"v":1,"type":"progress","step":1,"batch":{"default":8,"min":1,"max":16777217}}`,
		"a huge norm":                 `{"v":1,"type":"progress","step":1,"gradients":{"count":1,"small":1,"small_squared":1e301,"large":2,"large_squared":1}}`,
		"a negative norm":             `{"v":1,"type":"progress","step":1,"gradients":{"count":1,"small":1,"small_squared":-1,"large":2,"large_squared":1}}`,
		"batches of one size":         `{"v":1,"type":"progress","step":1,"gradients":{"count":1,"small":2,"small_squared":1,"large":2,"large_squared":1}}`,
		"negative memory":             `{"v":1,"type":"progress","step":1,"gpu_memory_mib":-1}`,
		"negative operations":         `{"v":1,"type":"describe","flops":-1}`,
		"a model without end":         `{"v":1,"type":"describe","params":1e25}`,
		"a batch of nothing":          `{"v":1,"type":"describe","batch_size":0}`,
		"a huge step":                 `{"v":1,"type":"progress","step":9223372036854775807}`,
		"an overflowing step":         `{"v":1,"type":"progress","step":1e400}`,
		"a negative duration":         `{"v":1,"type":"progress","step":1,"step_seconds":-3}`,
		"NaN":                         `{"v":1,"type":"progress","step":1,"metrics":{"loss":NaN}}`,
		"a number in a string":        `{"v":1,"type":"progress","step":1,"metrics":{"loss":"0.5"}}`,
		"a text as metric":            `{"v":1,"type":"progress","step":1,"metrics":{"loss":"bad"}}`,
		"a negative rank":             `{"v":1,"type":"progress","step":1,"rank":-1}`,
		"a rank outside":              `{"v":1,"type":"progress","step":1,"rank":8,"world_size":8}`,
		"a local rank outside":        `{"v":1,"type":"ack","generation":1,"applied":{},"local_rank":2,"world_size":2}`,
		"a huge rank":                 `{"v":1,"type":"progress","step":1,"rank":1048576}`,
		"a huge world size":           `{"v":1,"type":"progress","step":1,"world_size":1048577}`,
		"a negative world size":       `{"v":1,"type":"progress","step":1,"world_size":-2}`,
		"a rank in a string":          `{"v":1,"type":"progress","step":1,"rank":"0"}`,
		"a long metric name":          `{"v":1,"type":"progress","step":1,"metrics":{"` + strings.Repeat("x", 65) + `":1}}`,
		"too many loaders":            `{"v":1,"type":"ack","generation":1,"applied":{"loaders":65}}`,
		"a batch size of 0":           `{"v":1,"type":"ack","generation":1,"applied":{"batch_size":0}}`,
		"an invalid checksum":         `{"v":1,"type":"saved","path":"/a","sha256":"xyz","step":1}`,
		"a relative path":             `{"v":1,"type":"saved","path":"a","sha256":"` + strings.Repeat("0", 64) + `","step":1}`,
		"a URL of a file":             `{"v":1,"type":"saved","path":"file:///a","sha256":"` + strings.Repeat("0", 64) + `","step":1}`,
		"a duty of 0":                 `{"v":1,"type":"duty","sequence":1,"duty":0}`,
		"a duty above 1":              `{"v":1,"type":"duty","sequence":1,"duty":1.5}`,
		"a negative sequence":         `{"v":1,"type":"duty","sequence":-1,"duty":0.5}`,
		"a line that is too long":     `{"v":1,"type":"save","reason":"` + strings.Repeat("x", wire.MaxLine) + `"}`,
		"not UTF-8":                   "{\"v\":1,\"type\":\"save\",\"reason\":\"\xff\"}",
		"a negative request":          `{"v":1,"type":"failed","request":-1,"reason":""}`,
		"a long reason":               `{"v":1,"type":"failed","request":1,"reason":"` + strings.Repeat("x", 513) + `"}`,
		"continue after a step":       `{"v":1,"type":"stop","sequence":1,"stop":false,"after_step":9}`,
		"a stop in the past":          `{"v":1,"type":"stop","sequence":1,"stop":true,"after_step":-9}`,
		"a negative stopped step":     `{"v":1,"type":"stopped","sequence":1,"step":-9,"stopped":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := wire.Decode([]byte(line))
			require.ErrorIs(t, err, wire.ErrMalformed)
		})
	}
	_, err := wire.Decode([]byte(`{"v":1,"type":"unknown","text":"…"}`))
	require.ErrorIs(t, err, wire.ErrUnknownType)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"type":"progress","step":12,"metrics":{"loss":0.5},"loaders":2}`))
	f.Add([]byte(`{"v":1,"type":"progress","step":12,"metrics":{"loss":"nan"},"rank":1,"local_rank":1,"world_size":2}`))
	f.Add([]byte(`{"v":1,"type":"progress","step":1,"batch":{"default":8,"min":1,"max":64,"learning_rate":"none"},` +
		`"gradients":{"count":1,"small":1,"small_squared":1,"large":2,"large_squared":1},"gpu_memory_mib":1}`))
	f.Add([]byte(`{"v":1,"type":"ack","generation":1,"applied":{}}`))
	f.Add([]byte(`{"v":1,"type":"config","generation":1,"loaders":2}`))
	f.Add([]byte(`{"v":1,"type":"duty","sequence":1,"duty":0.5}`))
	f.Add([]byte(`{"v":1,"type":"save","reason":"user","deadline_seconds":30,"request":7}`))
	f.Add([]byte(`{"v":1,"type":"failed","request":7,"reason":"disk full"}`))
	f.Add([]byte(`{"v":1,"type":"stop","sequence":4,"stop":true,"after_step":120}`))
	f.Add([]byte(`{"v":1,"type":"stopped","sequence":4,"step":120,"stopped":true,"rank":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := wire.Decode(line)
		if err != nil {
			return
		}
		again, err := wire.Encode(m)
		if err != nil {
			t.Fatalf("%+v was accepted but cannot be encoded: %v", m, err)
		}
		if _, err := wire.Decode(again); err != nil {
			t.Fatalf("Decode rejects its own encoding %s: %v", again, err)
		}
	})
}
