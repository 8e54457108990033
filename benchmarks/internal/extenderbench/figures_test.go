package extenderbench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

func TestQuantiles(t *testing.T) {
	var all times
	for i := 100; i > 0; i-- {
		all = append(all, time.Duration(i))
	}
	require.Equal(t, time.Duration(51), all.quantile(0.5))
	require.Equal(t, time.Duration(100), all.quantile(0.99))
	require.Equal(t, time.Duration(100), all.quantile(1))
	require.Zero(t, times(nil).quantile(0.5))
}

func TestFleet_FillsToTheFraction(t *testing.T) {
	f := newFleet(1)
	f.grow(10)
	f.fill(0.5)
	require.Equal(t, f.occupants, func() []occupant { same := newFleet(1); same.grow(10); return same.fill(0.5) }(), "the same seed, the same fleet")
	f.fill(0.95)
	held := map[growth.GPU]growth.MiB{}
	for _, o := range f.occupants {
		require.Positive(t, o.size)
		held[o.gpu] += o.size
	}
	require.Len(t, held, 10*gpusPerNode)
	for gpu, memory := range held {
		require.Equal(t, 76*growth.GiB, memory, gpu)
	}
	g := newFleet(2)
	g.grow(10)
	for _, o := range g.scatter(100) {
		require.LessOrEqual(t, o.size, gpuMemory)
	}
	require.Len(t, g.occupants, 100)
	for _, gpus := range g.used {
		for _, used := range gpus {
			require.LessOrEqual(t, used, gpuMemory)
		}
	}
}
