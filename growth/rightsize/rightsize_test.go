package rightsize_test

import (
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/peaks"
	"github.com/trellis-gpu/trellis/growth/rightsize"
)

func TestMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		container   rightsize.Container
		recommended growth.MiB
		want        growth.MiB
	}{
		"a request that is too large":            {rightsize.Container{Request: 8192, Peak: 1000}, 1200, 1200},
		"a request that is too small":            {rightsize.Container{Request: 256, Peak: 1000}, 1200, 1200},
		"a small difference":                     {rightsize.Container{Request: 1100, Peak: 1000}, 1200, 1100},
		"never within a tenth of the peak":       {rightsize.Container{Request: 8192, Peak: 1000}, 500, 1100},
		"below the limit":                        {rightsize.Container{Request: 256, Limit: 1024, Peak: 900}, 4096, 1023},
		"the peak is near the limit":             {rightsize.Container{Request: 256, Limit: 1024, Peak: 1000}, 900, 1023},
		"no request":                             {rightsize.Container{Peak: 1000}, 1200, 0},
		"the request equals the limit":           {rightsize.Container{Request: 2048, Limit: 2048, Peak: 100}, 128, 2048},
		"nothing observed":                       {rightsize.Container{Request: 8192}, 1200, 8192},
		"nothing recommended":                    {rightsize.Container{Request: 8192, Peak: 1000}, 0, 8192},
		"a recommendation that makes no sense":   {rightsize.Container{Request: 8192, Peak: 1000}, -5, 8192},
		"a limit of 1 MiB":                       {rightsize.Container{Request: 1, Limit: 1, Peak: 1}, 128, 1},
		"a peak above the request and the limit": {rightsize.Container{Request: 256, Limit: 512, Peak: 600}, 700, 511},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, rightsize.Memory(tc.container, tc.recommended))
		})
	}
}

func TestMemory_IsAlwaysSafe(t *testing.T) {
	require.NoError(t, quick.Check(func(request, limit, peak uint16, recommended int32) bool {
		c := rightsize.Container{Request: growth.MiB(request), Limit: growth.MiB(limit), Peak: growth.MiB(peak)}
		to := rightsize.Memory(c, growth.MiB(recommended))
		return to == c.Request || to > 0 && (c.Limit == 0 || to < c.Limit) && (10*to >= 11*c.Peak || to == c.Limit-1)
	}, &quick.Config{MaxCount: 20000}))
}

func TestSchedule(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	profile := func(blocks int) peaks.Profile {
		return peaks.Profile{Length: 10, Blocks: make([]peaks.Use, blocks)}
	}
	var s rightsize.Schedule
	require.False(t, s.Due(profile(3), false, now))
	require.True(t, s.Due(profile(4), false, now))
	require.False(t, s.Due(profile(7), true, now))
	require.True(t, s.Due(profile(8), true, now))
	require.Equal(t, now.Add(5*time.Minute), s.Applied(now).Next())
	require.Equal(t, now.Add(time.Hour), s.Yield(now).Next())
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 16} {
		s = s.Refused(now)
		require.Equal(t, now.Add(want*time.Minute), s.Next())
	}
	require.False(t, s.Due(profile(16), false, now))
}
