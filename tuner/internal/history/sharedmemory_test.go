package history

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// filled is a steady sample with workers that have filled part of a /dev/shm of 64 MiB.
func filled(step int64, loaders int, used growth.MiB) bus.Sample {
	s := steadySample(step)
	s.Loaders = &loaders
	s.SharedMemory = &bus.SharedMemory{Size: 64, Used: used}
	return s
}

func TestAdd_ObservesSharedMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		samples []bus.Sample
		want    *loader.SharedMemory
	}{
		"two workers": {
			[]bus.Sample{filled(1, 2, 10), filled(2, 2, 41), filled(3, 2, 39), filled(4, 2, 38)},
			&loader.SharedMemory{Size: 64, Used: 38, PerWorker: 21, Observed: true},
		},
		"too early": {
			[]bus.Sample{filled(1, 2, 10), filled(2, 2, 41), filled(3, 2, 39)},
			&loader.SharedMemory{Size: 64, Used: 39, PerWorker: 21},
		},
		"the memory of workers that are gone does not count": {
			[]bus.Sample{filled(1, 4, 60), filled(2, 1, 60), filled(3, 1, 20), filled(4, 1, 20), filled(5, 1, 20)},
			&loader.SharedMemory{Size: 64, Used: 20, PerWorker: 20, Observed: true},
		},
		"a job that stands still": {
			[]bus.Sample{filled(1, 2, 10), filled(1, 2, 10), filled(1, 2, 10), filled(1, 2, 10)},
			&loader.SharedMemory{Size: 64, Used: 10},
		},
		"no workers": {
			[]bus.Sample{filled(1, 0, 10), filled(2, 0, 10), filled(3, 0, 10), filled(4, 0, 10)},
			&loader.SharedMemory{Size: 64, Used: 10},
		},
		"what was observed stays when the workers go": {
			[]bus.Sample{filled(1, 2, 40), filled(2, 2, 40), filled(3, 2, 40), filled(4, 2, 40), filled(5, 0, 0), filled(6, 0, 0)},
			&loader.SharedMemory{Size: 64, PerWorker: 20, Observed: true},
		},
		"an invalid sample": {
			[]bus.Sample{filled(1, 2, -5), filled(2, -2, -5), filled(3, -2, -5)},
			&loader.SharedMemory{Size: 64},
		},
		"unknown": {[]bus.Sample{steadySample(1), steadySample(2)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var h jobHistory
			for _, s := range tc.samples {
				h = h.add(s)
			}
			require.Equal(t, tc.want, h.shared.state(&h.last))
		})
	}
}
