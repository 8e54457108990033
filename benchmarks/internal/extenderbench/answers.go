package extenderbench

import (
	"context"
	"encoding/json"
	"runtime"
	"runtime/debug"
)

// askAll asks filter and then prioritize about so many pods, and returns how long both together took for each.
func askAll(ctx context.Context, a *asker, q *questions, nodes json.RawMessage, pods int) (times, error) {
	runtime.GC() // now, and not while it is measured how long somebody else takes
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	all := make(times, pods)
	for i := range all {
		body, err := q.about(nodes)
		if err != nil {
			return nil, err
		}
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
