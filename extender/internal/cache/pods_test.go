package cache

import (
	"log/slog"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// TestPodStore_ForwardsChangesOfReflector calls the store as client-go's Reflector does, with whole pods, and with pods that
// it has transformed while it collected a list.
func TestPodStore_ForwardsChangesOfReflector(t *testing.T) {
	c := New(nil, gpushare.Resource, slog.New(slog.DiscardHandler))
	s := c.podStore(t.Context())
	pod := func(uid, version string, requests bool) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: types.UID(uid), ResourceVersion: version}}
		if requests {
			p.Annotations = map[string]string{gpushare.MemoryAnnotation: "1Gi"}
		}
		return p
	}
	transformed := func(p *corev1.Pod) any {
		update, err := s.Transformer()(p)
		require.NoError(t, err)
		return update
	}
	known := func() []growth.PodUID {
		for len(c.changes) > 0 {
			(<-c.changes)(c)
		}
		return slices.Sorted(maps.Keys(c.state.pods))
	}

	require.NoError(t, s.Replace([]any{transformed(pod("a", "1", true)), transformed(pod("b", "1", true)), transformed(pod("plain", "1", false))}, "1"))
	require.True(t, s.hasSynced())
	require.Equal(t, []growth.PodUID{"a", "b"}, known())

	require.NoError(t, s.Add(pod("c", "2", true)))
	require.NoError(t, s.Add(pod("other", "2", false)))
	require.NoError(t, s.Delete(pod("a", "3", true)))
	require.NoError(t, s.Update(pod("b", "4", false)), "it does not request a share any more")
	require.Equal(t, []growth.PodUID{"c"}, known())

	require.NoError(t, s.Add(pod("d", "5", true)))
	require.NoError(t, s.Replace([]any{pod("c", "6", true), pod("e", "6", true)}, "6"), "a new list, after a watch that missed something")
	require.Equal(t, []growth.PodUID{"c", "e"}, known())
	require.Equal(t, "6", c.state.pods["c"].ResourceVersion)
	require.Len(t, s.requests, 2, "pods without a request are not kept")

	require.ErrorContains(t, s.Add(&corev1.Node{}), "in a list or watch of pods")
	require.NoError(t, s.Resync())
}
