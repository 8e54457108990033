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

func TestAssumed_Written(t *testing.T) {
	write := func(a *reservations.Assumed, pod growth.PodUID, basis, revision bus.Revision) {
		a.AddWritten("n", basis, reservations.Versioned{Reservation: bus.Reservation{Pod: growth.PodRef{UID: pod}}, Revision: revision})
	}
	for name, tc := range map[string]struct {
		happens  func(a *reservations.Assumed)
		snapshot bus.Revision
		want     []growth.PodUID
	}{
		"nothing was written": {func(*reservations.Assumed) {}, 10, nil},
		"newer than the snapshot": {func(a *reservations.Assumed) {
			write(a, "a", 10, 11)
			write(a, "b", 10, 12)
		}, 10, []growth.PodUID{"a", "b"}},
		"partly newer": {func(a *reservations.Assumed) {
			write(a, "a", 10, 11)
			write(a, "b", 10, 12)
		}, 11, []growth.PodUID{"b"}},
		"shown by the snapshot": {func(a *reservations.Assumed) { write(a, "a", 10, 11) }, 11, nil},
		"another node":          {func(a *reservations.Assumed) { a.AddWritten("m", 10, reservations.Versioned{Revision: 11}) }, 10, nil},
		"pod reserved again": {func(a *reservations.Assumed) {
			write(a, "a", 10, 11)
			write(a, "a", 10, 12)
		}, 10, []growth.PodUID{"a"}},
		"reservation released": {func(a *reservations.Assumed) {
			write(a, "a", 10, 11)
			write(a, "b", 10, 12)
			a.ForgetWritten("n", "a")
		}, 10, []growth.PodUID{"b"}},
		// Another replica wrote at 12. b was decided on that; the snapshot does not have it.
		"snapshot older than a basis": {func(a *reservations.Assumed) {
			write(a, "a", 10, 11)
			write(a, "b", 12, 13)
		}, 10, nil},
		"snapshot as new as the basis": {func(a *reservations.Assumed) {
			write(a, "a", 10, 11)
			write(a, "b", 12, 13)
		}, 12, []growth.PodUID{"b"}},
		"snapshot lags too far": {func(a *reservations.Assumed) {
			write(a, "a", 10, 11)
			time.Sleep(11 * time.Second)
		}, 10, nil},
		// Without a, b does not complete the snapshot.
		"snapshot lags too far for one of them": {func(a *reservations.Assumed) {
			write(a, "a", 10, 11)
			time.Sleep(8 * time.Second)
			write(a, "b", 10, 12)
			time.Sleep(8 * time.Second)
		}, 10, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var a reservations.Assumed
				tc.happens(&a)
				require.ElementsMatch(t, tc.want, slices.Collect(maps.Keys(a.On("n", tc.snapshot).Written)))
			})
		})
	}
}
