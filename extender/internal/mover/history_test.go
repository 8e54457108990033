package mover_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// The record of past moves names the job as its user does, so that it is found after the pod is gone.
func TestMover_RemembersTheNamesOfAJob(t *testing.T) {
	for name, test := range map[string]struct {
		owner string
		want  string
	}{
		"a pod of a StatefulSet": {"StatefulSet", "StatefulSet/train"},
		"a bare pod":             {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGangHarness(t)
				if yes := true; test.owner != "" {
					pod := w.Get(clustertest.Pod("p", ""))
					pod.OwnerReferences = []metav1.OwnerReference{{UID: "owner", Controller: &yes, Kind: test.owner, Name: "train"}}
					w.Update(pod)
				}
				w.asks("p", "b")
				w.saving("p-uid")
				w.answer("p", 0, "the volume is full")
				w.pass(2)
				entries, _, err := w.Bus.List(t.Context(), bus.Moved)
				require.NoError(t, err)
				require.Len(t, entries, 1)
				past, err := bus.Decode[bus.MovedJob](entries[0].Value)
				require.NoError(t, err)
				require.Equal(t, test.want, past.Owner)
				require.Equal(t, []string{"p"}, past.Names)
			})
		})
	}
}
