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

// TestFollowerTellsAllThatTheReflectorDoes calls the store as client-go's Reflector does, with whole pods and with those that it
// has transformed while it collected a list.
func TestFollowerTellsAllThatTheReflectorDoes(t *testing.T) {
	k := NewKeeper(nil, gpushare.Resource, slog.New(slog.DiscardHandler))
	f := k.follower(t.Context())
	pod := func(uid, version string, asks bool) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: types.UID(uid), ResourceVersion: version}}
		if asks {
			p.Annotations = map[string]string{gpushare.MemoryAnnotation: "1Gi"}
		}
		return p
	}
	early := func(p *corev1.Pod) any {
		s, err := f.Transformer()(p)
		require.NoError(t, err)
		return s
	}
	known := func() []growth.PodUID {
		for len(k.changes) > 0 {
			(<-k.changes)(k)
		}
		return slices.Sorted(maps.Keys(k.state.pods))
	}

	require.NoError(t, f.Replace([]any{early(pod("a", "1", true)), early(pod("b", "1", true)), early(pod("plain", "1", false))}, "1"))
	require.True(t, f.hasSynced())
	require.Equal(t, []growth.PodUID{"a", "b"}, known())

	require.NoError(t, f.Add(pod("c", "2", true)))
	require.NoError(t, f.Add(pod("other", "2", false)))
	require.NoError(t, f.Delete(pod("a", "3", true)))
	require.NoError(t, f.Update(pod("b", "4", false)), "it asks no more")
	require.Equal(t, []growth.PodUID{"c"}, known())

	require.NoError(t, f.Add(pod("d", "5", true)))
	require.NoError(t, f.Replace([]any{pod("c", "6", true), pod("e", "6", true)}, "6"), "a new list, after a watch that missed something")
	require.Equal(t, []growth.PodUID{"c", "e"}, known())
	require.Equal(t, "6", k.state.pods["c"].ResourceVersion)
	require.Len(t, f.asks, 2, "nothing is kept of who asks for nothing")

	require.ErrorContains(t, f.Add(&corev1.Node{}), "among pods")
	require.NoError(t, f.Resync())
}
