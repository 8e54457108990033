package node

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithFloors(t *testing.T) {
	for name, tc := range map[string]struct {
		weights, floors []float64
		want            []float64 // of 12
	}{
		"no floors":                        {[]float64{1, 2, 3}, []float64{0, 0, 0}, []float64{2, 4, 6}},
		"all are above their floors":       {[]float64{1, 2, 3}, []float64{1, 4, 5}, []float64{2, 4, 6}},
		"one is raised":                    {[]float64{1, 2, 3}, []float64{7, 0, 0}, []float64{7, 2, 3}},
		"raising one lets another need it": {[]float64{1, 2, 3}, []float64{6, 3, 0}, []float64{6, 3, 3}},
		"together more than there is":      {[]float64{1, 2, 3}, []float64{9, 6, 0}, []float64{6, 4, 2}},
		"no weights":                       {[]float64{0, 0, 0}, []float64{0, 0, 0}, []float64{4, 4, 4}},
		"only one has a weight":            {[]float64{0, 0, 1}, []float64{2, 0, 0}, []float64{2, 0, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			require.InDeltaSlice(t, tc.want, withFloors(tc.weights, tc.floors, 12), 1e-9)
		})
	}
}
