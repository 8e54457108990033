package mpsthreads_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/mpsthreads"
)

func TestPercent(t *testing.T) {
	for name, tc := range map[string]struct {
		share growth.Share
		want  int
	}{
		"alone":                         {mpsthreads.EqualPart(0), 100},
		"next to one job of its size":   {mpsthreads.EqualPart(1), 100},
		"next to two, rounded up":       {mpsthreads.EqualPart(2), 67},
		"next to three":                 {mpsthreads.EqualPart(3), 50},
		"next to nine":                  {mpsthreads.EqualPart(9), mpsthreads.Least},
		"next to a job that needs more": {0.3, 60},
		"no share":                      {0, mpsthreads.Least},
		"not a number":                  {growth.Share(math.NaN()), mpsthreads.Least},
		"more than all":                 {7, 100},
		"fewer jobs than none":          {mpsthreads.EqualPart(-3), 100},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, mpsthreads.Percent(tc.share)) })
	}
}

func TestDecode(t *testing.T) {
	content, err := mpsthreads.Encode(mpsthreads.Record{Uptime: 100, GPUs: []mpsthreads.GPU{{UUID: "GPU-a", Share: .25}}})
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		content string
		uptime  growth.Seconds
		err     string
	}{
		"as written":         {string(content), 130, ""},
		"too old":            {string(content), 161, "61 s old"},
		"of an earlier boot": {string(content), 20, "-80 s old"},
		"a newer version":    {`{"v":2}`, 0, "unknown record version"},
		"not JSON":           {"gpus", 0, "decoding"},
		"a negative share":   {`{"v":1,"gpus":[{"uuid":"GPU-a","share":-0.5}]}`, 0, `GPU "GPU-a" is invalid`},
		"more than all":      {`{"v":1,"gpus":[{"uuid":"GPU-a","share":1.5}]}`, 0, "is invalid"},
		"not a UUID":         {`{"v":1,"gpus":[{"uuid":"GPU a"}]}`, 0, "is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := mpsthreads.Decode([]byte(tc.content), tc.uptime)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, growth.Share(.25), r.Share("GPU-a"))
			require.Equal(t, growth.Share(1), r.Share("GPU-b"), "a GPU without jobs")
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"uptimeSeconds":5,"gpus":[{"uuid":"GPU-a","share":0.3}]}`))
	f.Add([]byte(`{"v":1,"uptimeSeconds":1e308,"gpus":[{}],"later":true}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := mpsthreads.Decode(content, 5)
		if err != nil {
			return
		}
		for _, g := range r.GPUs {
			percent := mpsthreads.Percent(r.Share(g.UUID))
			require.GreaterOrEqual(t, percent, mpsthreads.Least)
			require.LessOrEqual(t, percent, 100)
		}
	})
}
