package extenderbench

import (
	"context"
	"runtime"
	"runtime/debug"
)

// askAll sends filter and prioritize for each pod, and returns the time of both together per pod.
func askAll(ctx context.Context, a *asker, bodies [][]byte) (times, error) {
	runtime.GC() // now, and not during the measurement of another contestant
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	all := make(times, len(bodies))
	for i, body := range bodies {
		for _, verb := range []string{"filter", "prioritize"} {
			took, err := a.time(ctx, verb, body)
			if err != nil {
				return nil, err
			}
			all[i] += took
		}
	}
	return all, nil
}
