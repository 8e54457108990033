package loop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// The cgroup decides whether a Guaranteed container with whole cores has them alone: kubelet may have no CPU manager.
func TestExclusiveCores_AreReadFromTheCgroup(t *testing.T) {
	for name, tc := range map[string]struct {
		bound map[string]int
		want  int // the cores left for data loaders, of four
	}{
		"bound to its cores":         {map[string]int{"db": 2}, 1},
		"not bound":                  {nil, 3},
		"bound to the shared pool":   {map[string]int{"db": 3}, 3},
		"another container is bound": {map[string]int{"web": 2}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, policy.Fair, func(t *testing.T, h *harness) {
				h.mu.Lock()
				h.bound = tc.bound
				h.mu.Unlock()
				h.loop.Capacity(4 * growth.Core)
				h.arrive("a")
				account := pods.Account{CPU: 2000, Pinned: []pods.Pinned{{ID: "db", Cores: 2}}}
				h.loop.PodAccounted("uid-database", account)
				h.advance(2 * interval)
				h.mu.Lock()
				require.Equal(t, tc.want, h.load.LoaderBudget)
				h.mu.Unlock()
				h.loop.PodAccounted("uid-database", pods.Account{})
				h.advance(interval + time.Second)
				h.mu.Lock()
				require.Equal(t, 3, h.load.LoaderBudget, "the pod has ended")
				h.mu.Unlock()
			})
		})
	}
}
