package corun_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/corun"
)

func TestTable_Delays(t *testing.T) {
	type delays = map[corun.Kind]float64
	kinds := func(names ...corun.Kind) []corun.Kind { return names }
	for name, tc := range map[string]struct {
		pairs          map[string]float64
		triple         float64 // speed of a next to b and c; 0 if it was not measured
		present, ended []corun.Kind
		want           delays
	}{
		"nothing is known":                {nil, 0, kinds("b"), nil, delays{}},
		"a job alone":                     {map[string]float64{"ab": .5}, 0, nil, nil, delays{}},
		"a pair":                          {map[string]float64{"ab": .8}, 0, kinds("b"), nil, delays{"b": .25}},
		"pairs":                           {map[string]float64{"ab": .8, "ac": .5}, 0, kinds("b", "c"), nil, delays{"b": .25, "c": 1}},
		"one of two pairs":                {map[string]float64{"ab": .8}, 0, kinds("b", "c"), nil, delays{"b": .25}},
		"a set that is slower than pairs": {map[string]float64{"ab": .8, "ac": .8}, .4, kinds("b", "c"), nil, delays{"b": .75, "c": .75}},
		"a set without its pairs":         {nil, .5, kinds("b", "c"), nil, delays{"b": .5, "c": .5}},
		"two others of one kind":          {map[string]float64{"ab": .8}, 0, kinds("b", "b"), nil, delays{"b": .25}},
		"a job that has ended":            {map[string]float64{"ab": .8, "ac": .5}, 0, kinds("b"), kinds("c"), delays{"b": .25, "c": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			table := table(tc.pairs)
			if tc.triple > 0 {
				table.Add("a", []corun.Kind{"b", "c"}, tc.triple, 60)
			}
			got := table.Delays("a", tc.present, tc.ended)
			require.Len(t, got, len(tc.want))
			for kind, delay := range tc.want {
				require.InDelta(t, delay, got[kind], 1e-9, kind)
			}
		})
	}
}
