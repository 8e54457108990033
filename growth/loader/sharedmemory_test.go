package loader_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"
)

func TestSharedMemory_Limit(t *testing.T) {
	observed := func(size, perWorker int) loader.SharedMemory {
		return loader.SharedMemory{Size: growth.MiB(size), Used: growth.MiB(perWorker), PerWorker: growth.MiB(perWorker), Observed: true}
	}
	for name, tc := range map[string]struct {
		memory         loader.SharedMemory
		present, width int
		advised        bool
		want           int
	}{
		"64 MiB and workers of 20":                  {observed(64, 20), 1, 1, false, 2},
		"a worker that takes all":                   {observed(64, 60), 1, 1, false, 1},
		"more than there should be":                 {observed(64, 90), 1, 1, false, 1},
		"the job's own number is not lowered":       {observed(64, 20), 3, 1, false, 3},
		"workers that use none":                     {observed(64, 0), 1, 1, false, loader.MaxLoaders},
		"8 GiB":                                     {observed(8192, 20), 1, 1, false, loader.MaxLoaders},
		"not observed, none so far":                 {loader.SharedMemory{Size: 64}, 0, 1, false, 0},
		"not observed, taken away by advice":        {loader.SharedMemory{Size: 64}, 0, 1, true, 1},
		"not observed, 2 GiB":                       {loader.SharedMemory{Size: 2048}, 0, 1, false, 6},
		"not observed, 2 GiB, most of it in use":    {loader.SharedMemory{Size: 2048, Used: 1200}, 0, 1, false, 1},
		"not observed, 2 GiB for two devices":       {loader.SharedMemory{Size: 2048}, 0, 2, false, 3},
		"not observed, more in use than should be":  {loader.SharedMemory{Size: 64, Used: 80}, 2, 1, false, 2},
		"not observed, a job without a known width": {loader.SharedMemory{Size: 2048}, 0, 0, false, 6},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.memory.Limit(tc.present, tc.width, tc.advised))
		})
	}
}

func TestDivide_LimitOfUnmeasuredJob(t *testing.T) {
	job := loader.Running{Job: loader.Job{UID: "a", Width: 1}, Advised: true, Unchanged: time.Hour}
	policy := loader.DefaultChangePolicy()
	require.Equal(t, loader.Allocation{"a": 4}, policy.Divide([]loader.RunningNode{{Budget: 8, Running: []loader.Running{job}}}).Loaders)
	two := 2
	job.Limit = &two
	require.Equal(t, loader.Allocation{"a": 2}, policy.Divide([]loader.RunningNode{{Budget: 8, Running: []loader.Running{job}}}).Loaders)
	job.Loaders = 3
	require.Equal(t, loader.Allocation{"a": 3}, policy.Divide([]loader.RunningNode{{Budget: 8, Running: []loader.Running{job}}}).Loaders, "present workers stay")
}
