package webhook_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/extender/internal/webhook"
	"github.com/trellis-gpu/trellis/growth"
)

var explanation = scheduler.Explanation{
	Pod:    growth.PodRef{Namespace: "default", Name: "vae", UID: "u"},
	Memory: 8 * growth.GiB,
	GPUs:   2,
	Policy: "growth",
	At:     time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
	Nodes: []scheduler.NodeExplanation{
		{Node: "node-1", Scored: true, Points: 10, Score: 1, GPUs: []scheduler.GPUExplanation{
			{GPU: "GPU-a", Why: "alone"}, {GPU: "GPU-b", Why: "shared", Jobs: []scheduler.JobExplanation{
				{Pod: "default/vae", Kind: "0123456789abcdef", Before: 1, After: 1.31, Deviation: 0.15, Source: "prior"},
				{Pod: "default/gru", Before: 1.1, After: 1.4, Deviation: 0.2, Source: "measured together"},
			}},
		}},
		{Node: "node-2"},
		{Node: "node-3", Reason: "GPU memory: 12GiB asked, largest free share 8GiB on gpu-2"},
	},
	Bind: &scheduler.BindExplanation{At: time.Date(2026, 11, 21, 12, 0, 1, 0, time.UTC), Node: "node-1", GPUs: []growth.GPU{"GPU-a", "GPU-b"}},
}

const explanationText = `pod default/vae (UID u)
asks for 8GiB of GPU memory on each of 2 GPUs
policy growth, last tried 2026-11-21T12:00:00Z, 3 nodes considered

NODE    POINTS  GPU    WHY
node-1  10      GPU-a  alone
                GPU-b  shared
                         default/vae: steps take 1.31 ± 0.15 times as long as alone, 1.00 without the pod (prior)
                         default/gru: steps take 1.40 ± 0.20 times as long as alone, 1.10 without the pod (measured together)
node-2  -              has room; the scheduler did not ask for its score
node-3  -              GPU memory: 12GiB asked, largest free share 8GiB on gpu-2

bound to node-1 on [GPU-a GPU-b] at 2026-11-21T12:00:01Z
`

// fixedExplanation returns the same explanation for every pod.
type fixedExplanation struct {
	fakeScheduler
	explanation scheduler.Explanation
}

func (e *fixedExplanation) Explain(string, string) (scheduler.Explanation, bool) {
	return e.explanation, true
}

func TestExplain_TextAndJSON(t *testing.T) {
	get := func(path string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		webhook.Handler(&fakeScheduler{}, &fakeScheduler{}, slog.New(slog.DiscardHandler)).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		return answer
	}
	require.Equal(t, explanationText, get("/explain/default/vae").Body.String())

	var got scheduler.Explanation
	require.NoError(t, json.Unmarshal(get("/explain/default/vae?output=json").Body.Bytes(), &got))
	require.Equal(t, explanation, got)

	byLimit := explanation
	byLimit.Memory, byLimit.Units = 0, 3
	answer := httptest.NewRecorder()
	webhook.Handler(&fixedExplanation{explanation: byLimit}, &fakeScheduler{}, slog.New(slog.DiscardHandler)).
		ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/explain/default/vae", http.NoBody))
	require.Contains(t, answer.Body.String(), "asks for 3 units of GPU memory")

	unknown := get("/explain/default/other")
	require.Equal(t, http.StatusNotFound, unknown.Code)
	require.Contains(t, unknown.Body.String(), "no decision about pod default/other is in the log")
	require.Equal(t, http.StatusBadRequest, get("/explain/default/vae?output=yaml").Code)
}
