package explain_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/peaks"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

var explanation = node.Explanation{
	Pod:      growth.PodRef{Namespace: "ns", Name: "job", UID: "u"},
	Category: growth.Watching,
	Share:    .25,
	Request:  250,
	Wanted:   250,
	Weight:   256,
	Decisions: node.DecisionLog{
		{
			At:      time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
			Policy:  "harmless",
			Because: "arrival",
			From:    .5,
			To:      .5,
			Reason:  "its size is not known: its fair share",
			Inputs:  node.Inputs{Step: 0, Category: growth.Progressing, Samples: 1},
		},
		{
			At:      time.Date(2026, 11, 21, 12, 0, 20, 0, time.UTC),
			Policy:  "harmless",
			Because: "interval",
			From:    .5,
			To:      .25,
			Reason:  "it can wait",
			Outcome: "request 500m → 250m: its cgroup's weight is 256",
			Inputs: node.Inputs{
				Step:        17,
				TotalSteps:  90,
				Value:       .5,
				Growth:      .04,
				Samples:     7,
				Category:    growth.Watching,
				Used:        480,
				Limit:       1000,
				Remaining:   remaining.Estimate{Low: 60, Likely: 70, High: 80, Known: true},
				FairFinish:  140,
				Overdue:     true,
				ToTarget:    remaining.Estimate{Low: 5, Likely: 6, High: 8, Known: true},
				SimilarJobs: "ns/before",
			},
		},
	},
}

func TestPrint_WritesATable(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, explain.Print(&out, explanation, explain.Table))
	require.Equal(t, `ns/job  Watching  share 25%  CPU request 250m, its cgroup's weight 256

TIME      BECAUSE   STEP   VALUE  GROWTH  CATEGORY     USED  LIMIT  LEFT               NEED                          DUE            SHARE      REASON                                           OUTCOME
12:00:00  arrival   0      0      –       Progressing  0m    –      –                  –                             –              50% → 50%  harmless: its size is not known: its fair share  –
12:00:20  interval  17/90  0.5    0.040   Watching     480m  1000m  70 core-s (60–80)  6 core-s (5–8), as ns/before  late in 140 s  50% → 25%  harmless: it can wait                            request 500m → 250m: its cgroup's weight is 256
`, out.String())
}

func TestPrint_WritesTheDeadline(t *testing.T) {
	e := explanation
	e.Deadline = &bus.Deadline{At: time.Date(2026, 5, 1, 18, 0, 0, 0, time.UTC), Status: deadline.Unknown}
	for want, late := range map[string]*deadline.Degree{
		"\nits deadline is 2026-05-01T18:00:00Z: unknown\n":                                                nil,
		"\nits deadline is 2026-05-01T18:00:00Z: unknown, 14 min late (80 %: 9 min late to 22 min late)\n": {Low: 540, Likely: 840, High: 1320},
	} {
		var out bytes.Buffer
		e.Deadline.LateBy = late
		require.NoError(t, explain.Print(&out, e, explain.Table))
		require.Contains(t, out.String(), want)
	}
}

func TestPrint_WritesWhatWouldHaveToGiveWay(t *testing.T) {
	e := explanation
	e.Deadline = &bus.Deadline{
		At:     time.Date(2026, 5, 1, 18, 0, 0, 0, time.UTC),
		Status: deadline.AtRisk,
		LateBy: &deadline.Degree{Low: 540, Likely: 840, High: 1320},
	}
	jobs := []bus.Giving{
		{Pod: growth.PodRef{Namespace: "ns", Name: "long"}, Work: 40, Part: 250},
		{Pod: growth.PodRef{Namespace: "other", Name: "short"}, Work: 7.4, Part: 41},
	}
	for want, give := range map[string]bus.GiveWay{
		"The slack suffices for it, as far as is known now":                                          {},
		"It lacks 50 core-seconds. No jobs of this node could give that, not even paused until then": {Lacking: 50},
		"It lacks 47 core-seconds. Within the bound of 5 % of their time these jobs could give way, but would end later than under fair " +
			"sharing: ns/long 40 (250m of CPU), other/short 7 (41m of CPU)": {Lacking: 47.4, Jobs: jobs},
		"It lacks 47 GPU-seconds, and the other jobs cannot give that within the bound of 5 % of their time. It would be in time if their " +
			"users paused these jobs until then: ns/long 40 (25% of a GPU), other/short 7 (4% of a GPU)": {
			Lacking: 47.4, Unit: growth.GPUSecond, Jobs: jobs, Pause: true,
		},
	} {
		var out bytes.Buffer
		e.Deadline.GiveWay = &give
		require.NoError(t, explain.Print(&out, e, explain.Table))
		require.Contains(t, out.String(), "at risk, 14 min late (80 %: 9 min late to 22 min late)\n"+want+"\n")
	}
}

func TestPrint_ComparesGPUMemoryWithTheRequest(t *testing.T) {
	recommended := &peaks.Request{Request: 3328, Low: 3000, Likely: 3010, High: 3200}
	for want, tc := range map[string]struct {
		memory      bus.GPUMemory
		recommended *peaks.Request
	}{
		"\nGPU memory: 3000MiB used on a GPU at most, 8GiB requested, 3328MiB recommended (peak, 80 %: 3000MiB to 3200MiB)\n": {
			bus.GPUMemory{Peak: 3000, Requested: 8192, Measured: true}, recommended,
		},
		"\nGPU memory: 3000MiB used on a GPU at most (by its framework, with an allowance for the driver), 8GiB requested\n": {
			bus.GPUMemory{Peak: 3000, Requested: 8192}, nil,
		},
		"\nGPU memory: 3000MiB used on a GPU at most\n": {bus.GPUMemory{Peak: 3000, Measured: true}, nil},
	} {
		e := explanation
		e.GPUMemory, e.RecommendedGPUMemory = &tc.memory, tc.recommended
		var out bytes.Buffer
		require.NoError(t, explain.Print(&out, e, explain.Table))
		require.Contains(t, out.String(), want)
	}
}

func TestAsk_UsesTheHealthListener(t *testing.T) {
	server := httptest.NewServer(explain.Handler(func(_ context.Context, pod string) (node.Explanation, error) {
		switch pod {
		case "ns/job":
			return explanation, nil
		case "ns/busy":
			return node.Explanation{}, errors.New("the loop does not run")
		}
		return node.Explanation{}, explain.ErrNoJob
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	got, err := explain.Ask(t.Context(), ":"+port, "ns/job")
	require.NoError(t, err)
	require.Equal(t, explanation, got)
	_, err = explain.Ask(t.Context(), ":"+port, "ns/other")
	require.ErrorContains(t, err, "no running job of this node")
	_, err = explain.Ask(t.Context(), ":"+port, "ns/busy")
	require.ErrorContains(t, err, "does not run")
	_, err = explain.Ask(t.Context(), "nowhere", "ns/job")
	require.ErrorContains(t, err, "--health-listen")
}

func TestHandler_RejectsOtherNodes(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, explain.Path+"?pod=ns/job", nil)
	request.RemoteAddr = "10.0.0.7:4242"
	answer := httptest.NewRecorder()
	explain.Handler(func(context.Context, string) (node.Explanation, error) { return explanation, nil }).ServeHTTP(answer, request)
	require.Equal(t, http.StatusForbidden, answer.Code)
	require.NotContains(t, answer.Body.String(), "Watching")
}

func TestDecisionLog_IsBoundedAndMergesRepetitions(t *testing.T) {
	var log node.DecisionLog
	for i := range 100 {
		log.Add(node.Decision{To: growth.Share(i), Reason: "a change"})
	}
	require.Len(t, log, 32)
	log.SetOutcome("done")
	for range 100 {
		log.Add(node.Decision{From: 99, To: 99, Reason: "as before"})
	}
	require.Len(t, log, 32)
	require.Equal(t, "done", log[30].Outcome)
}
