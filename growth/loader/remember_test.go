package loader_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"
)

func TestRemember(t *testing.T) {
	of := func(workers int, rate growth.PerSecond) loader.Measurement {
		return loader.Measurement{Loaders: workers, Rate: rate, Batch: 32, Waiting: .5}
	}
	many := func(workers, count int) (all []loader.Measurement) {
		for i := range count {
			all = append(all, of(workers, growth.PerSecond(i+1)))
		}
		return all
	}
	for name, tc := range map[string]struct{ all, want []loader.Measurement }{
		"nothing": {},
		"the newest two of each number of workers": {
			slices.Concat(many(1, 3), many(2, 9), many(1, 1)),
			[]loader.Measurement{of(1, 3), of(2, 8), of(2, 9), of(1, 1)},
		},
		"no invalid ones": {[]loader.Measurement{of(1, -1), of(-1, 1), {Loaders: 1, Rate: 1}, of(1, 1)}, []loader.Measurement{of(1, 1)}},
	} {
		require.Equal(t, tc.want, loader.Remember(tc.all), name)
	}
	var all []loader.Measurement
	for workers := range 40 {
		all = append(all, of(workers, 1))
	}
	require.Equal(t, all[40-loader.MaxRemembered:], loader.Remember(all))
}

func TestAlike(t *testing.T) {
	one := loader.Measurement{Loaders: 2, Rate: 100, Batch: 32, Waiting: .5}
	for name, tc := range map[string]struct {
		change func(*loader.Measurement)
		want   bool
	}{
		"the same":              {func(*loader.Measurement) {}, true},
		"a little faster":       {func(m *loader.Measurement) { m.Rate = 105 }, true},
		"much faster":           {func(m *loader.Measurement) { m.Rate = 120 }, false},
		"it waits less":         {func(m *loader.Measurement) { m.Waiting = .2 }, false},
		"other workers":         {func(m *loader.Measurement) { m.Loaders = 3 }, false},
		"another size of batch": {func(m *loader.Measurement) { m.Batch = 64 }, false},
	} {
		other := one
		tc.change(&other)
		require.Equal(t, tc.want, loader.Alike([]loader.Measurement{one}, []loader.Measurement{other}), name)
	}
	require.False(t, loader.Alike(nil, []loader.Measurement{one}))
}
