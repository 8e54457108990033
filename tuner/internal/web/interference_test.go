package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/interference"

	"github.com/trellis-gpu/trellis/tuner/api"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

func askInterference(t *testing.T, s *history.Snapshot, query string) (int, string, api.Interference) {
	t.Helper()
	answer := httptest.NewRecorder()
	handlerOf(newSource(s)).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/v1/interference"+query, nil))
	var doc api.Interference
	if answer.Code == http.StatusOK {
		require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &doc))
	}
	return answer.Code, answer.Body.String(), doc
}

// learnedSnapshot has a model in which two kinds take twice as long together.
func learnedSnapshot(t *testing.T) (s *history.Snapshot, a, b interference.Kind) {
	a, b = interference.KindOf("team", "a"), interference.KindOf("team", "b")
	l := interference.NewLearner(interference.Prior())
	for range 10 {
		require.NoError(t, l.Observe(interference.Measurement{Seconds: 90, Set: []interference.Member{
			{Kind: a, Activity: 1, Speed: 0.5}, {Kind: b, Activity: 1, Speed: 0.5}}}))
	}
	return &history.Snapshot{
		Synced:       true,
		Interference: &bus.Interference{Learned: l.State()},
		Jobs: []history.Job{{UID: "u", Sample: &bus.Sample{
			Pod: growth.PodRef{Namespace: "team", Name: "job-1", UID: "u"}, Kind: a}}},
	}, a, b
}

func TestInterference_ShowsTheModelAndItsPredictions(t *testing.T) {
	s, a, b := learnedSnapshot(t)
	code, _, doc := askInterference(t, s, "?own="+string(a)+"&others="+string(b)+","+string(b))
	require.Equal(t, http.StatusOK, code)
	require.True(t, doc.Synced)
	require.Empty(t, doc.Error)
	require.EqualValues(t, 20, doc.Observations)
	require.Len(t, doc.Kinds, 2)
	require.Len(t, doc.Pairs, 2)
	require.InDelta(t, 2, float64(doc.Pairs[0].Measured), 0.05)
	require.InDelta(t, 2, float64(doc.Pairs[0].Predicted.Mean), 0.05)
	require.InDelta(t, 3, float64(doc.Prediction.Mean), 0.3)
	for _, k := range doc.Kinds {
		if k.Kind == a {
			require.Equal(t, []string{"team/job-1"}, k.Jobs)
			continue
		}
		require.Empty(t, k.Jobs)
	}
}

func TestInterference_WithoutAUsableModelIsThePrior(t *testing.T) {
	broken := &bus.Interference{Learned: interference.State{Observations: -1}}
	for name, tc := range map[string]struct {
		snapshot *history.Snapshot
		want     string
	}{
		"no model": {&history.Snapshot{Synced: true}, ""},
		"a newer version": {&history.Snapshot{Undecodable: map[string]error{bus.ModelKey(bus.InterferenceModel): bus.ErrVersion}},
			"unknown record version"},
		"an impossible one":      {&history.Snapshot{Interference: broken}, "-1 observations"},
		"the bus is unavailable": {&history.Snapshot{Err: bus.ErrUnavailable}, "the bus is unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, doc := askInterference(t, tc.snapshot, "?own=&others=")
			require.Equal(t, http.StatusOK, code)
			require.Empty(t, doc.Pairs)
			require.InDelta(t, 1.31, float64(doc.Prediction.Mean), 1e-9)
			require.Contains(t, doc.Error, tc.want)
		})
	}
}

func TestInterference_RefusesInvalidQuestions(t *testing.T) {
	for query, want := range map[string]string{
		"?own=lstm&others=":       `"lstm" is no kind`,
		"?own=&others=x":          `"x" is no kind`,
		"?own=&others=,,,,,,,,,,": "give at most 7",
	} {
		code, body, _ := askInterference(t, &history.Snapshot{}, query)
		require.Equal(t, http.StatusBadRequest, code)
		require.Contains(t, body, want)
	}
}
