package loader_test

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// Two jobs share the cores that a node grants to loading. The one that waited for data gets the workers.
func ExampleAllocate() {
	waiting, _ := loader.Measured(1, 64, 0.5, 0.4)    // 64 samples a step of 0.5 s, of which 0.4 s waited for data
	computing, _ := loader.Measured(1, 64, 0.5, 0.01) // the same step without a wait
	var jobs []loader.Job
	for _, m := range []struct {
		uid  string
		seen loader.Measurement
	}{{"waiting", waiting}, {"computing", computing}} {
		model := loader.Fit(loader.Published(), []loader.Measurement{m.seen})
		jobs = append(jobs, loader.Job{
			UID:    growth.PodUID(m.uid),
			Weight: 1,
			Width:  1,
			Curve:  model.Curve(loader.MaxLoaders),
		})
	}
	allocation := loader.Allocate(jobs, 4)
	fmt.Println("waiting:", allocation["waiting"])
	fmt.Println("computing:", allocation["computing"])
	// Output:
	// waiting: 4
	// computing: 0
}
