package probes_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/metrics"
	"github.com/trellis-gpu/trellis/extender/internal/probes"
	"github.com/trellis-gpu/trellis/extender/internal/reconcile"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

func TestProbes_ReportTheSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		assumed := &reservations.Assumed{}
		counted := metrics.New(c.Cache, assumed, scheduler.Outcomes(), reconcile.Kinds(), reconcile.Failures())
		p := probes.New(c.Cache, assumed, counted.Registry)
		probe := func(path string) (int, string) {
			answer := httptest.NewRecorder()
			p.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
			return answer.Code, answer.Body.String()
		}
		expect := func(code int, want string) {
			t.Helper()
			got, text := probe("/readyz")
			require.Equal(t, code, got)
			require.Contains(t, text, want)
		}
		expect(503, "waiting for the first full view")
		c.Settle()
		expect(200, "ok")

		c.Mem.Fail(bus.ErrUnavailable)
		c.Settle()
		time.Sleep(time.Minute)
		expect(200, "degraded: the state bus has been unavailable for 1m1s, 0 reservations are held in memory until it is back")
		_, text := probe("/metrics")
		require.Contains(t, text, "trellis_extender_bus_up 0\n")
		require.Regexp(t, `trellis_extender_snapshot_age_seconds 6\d`, text)

		c.Mem.Fail(nil)
		c.Node("n", 8)
		clustertest.Record(c, bus.ReservationKey("n", "greedy"), bus.Reservation{GPUs: []growth.GPUShare{{GPU: "n-a", Memory: 9 * growth.GiB}}})
		c.Put(bus.SampleKey("p"), []byte(`{"v":9}`))
		counted.Bound("bound")
		counted.Conflicted()
		counted.Mismatched("elsewhere")
		counted.Waited(3 * time.Millisecond)
		counted.Answered("filter", 3*time.Millisecond)
		c.Settle()
		_, text = probe("/metrics")
		for _, line := range []string{
			"trellis_extender_bus_up 1\n",
			"trellis_extender_snapshot_age_seconds 0\n",
			"trellis_extender_refused_records 1\n",
			"trellis_extender_overcommitted_bytes 1.073741824e+09\n",
			"trellis_extender_reservations 1\n",
			`trellis_extender_binds_total{result="bound"} 1`,
			`trellis_extender_binds_total{result="no_room"} 0`,
			"trellis_extender_api_wait_seconds_count 1\n",
			"trellis_extender_reservation_conflicts_total 1\n",
			"trellis_extender_drift 1\n",
			"trellis_extender_unbalanced_total 0\n",
			`trellis_extender_drift_repaired_total{kind="overdrawn"} 0`,
			`trellis_extender_match_failures_total{kind="elsewhere"} 1`,
			`trellis_extender_match_failures_total{kind="unknown"} 0`,
			"trellis_extender_held_reservations 0\n",
			`trellis_extender_request_duration_seconds_count{verb="filter"} 1`,
		} {
			require.Contains(t, text, line)
		}
		p.Stop()
		expect(503, "stopping")
		code, _ := probe("/livez")
		require.Equal(t, 200, code)
	})
}
