package reservations_test

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

func TestOwn(t *testing.T) {
	wrote := func(o *reservations.Own, pod growth.PodUID, basis, revision bus.Revision) {
		o.Wrote("n", basis, reservations.Reserved{Reservation: bus.Reservation{Pod: growth.PodRef{UID: pod}}, Revision: revision})
	}
	for name, tc := range map[string]struct {
		happens func(o *reservations.Own)
		seen    bus.Revision
		want    []growth.PodUID
	}{
		"nothing was written": {func(*reservations.Own) {}, 10, nil},
		"what the view does not show yet": {func(o *reservations.Own) {
			wrote(o, "a", 10, 11)
			wrote(o, "b", 10, 12)
		}, 10, []growth.PodUID{"a", "b"}},
		"the rest of it": {func(o *reservations.Own) {
			wrote(o, "a", 10, 11)
			wrote(o, "b", 10, 12)
		}, 11, []growth.PodUID{"b"}},
		"nothing that the view shows": {func(o *reservations.Own) { wrote(o, "a", 10, 11) }, 11, nil},
		"of another node":             {func(o *reservations.Own) { o.Wrote("m", 10, reservations.Reserved{Revision: 11}) }, 10, nil},
		"a pod that was reserved for again": {func(o *reservations.Own) {
			wrote(o, "a", 10, 11)
			wrote(o, "a", 10, 12)
		}, 10, []growth.PodUID{"a"}},
		"a pod whose reservation was taken back": {func(o *reservations.Own) {
			wrote(o, "a", 10, 11)
			wrote(o, "b", 10, 12)
			o.Released("n", "a")
		}, 10, []growth.PodUID{"b"}},
		// Somebody else wrote at 12: b was decided on that, the view does not know of it.
		"a view that is older than what was decided on": {func(o *reservations.Own) {
			wrote(o, "a", 10, 11)
			wrote(o, "b", 12, 13)
		}, 10, nil},
		"a view that has caught up with it": {func(o *reservations.Own) {
			wrote(o, "a", 10, 11)
			wrote(o, "b", 12, 13)
		}, 12, []growth.PodUID{"b"}},
		"a view that lags too far": {func(o *reservations.Own) {
			wrote(o, "a", 10, 11)
			time.Sleep(11 * time.Second)
		}, 10, nil},
		// Without a, b alone would be half of the books.
		"a view that lags too far for one of them": {func(o *reservations.Own) {
			wrote(o, "a", 10, 11)
			time.Sleep(8 * time.Second)
			wrote(o, "b", 10, 12)
			time.Sleep(8 * time.Second)
		}, 10, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var o reservations.Own
				tc.happens(&o)
				require.ElementsMatch(t, tc.want, slices.Collect(maps.Keys(o.Since("n", tc.seen))))
			})
		})
	}
}
