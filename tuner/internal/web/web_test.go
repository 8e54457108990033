package web_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/remaining"

	"github.com/trellis-gpu/trellis/tuner/api"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files")

// fakeSource is a Source that tests can set.
type fakeSource struct {
	mu       sync.Mutex
	snapshot *history.Snapshot
	changed  chan struct{}
}

func newSource(s *history.Snapshot) *fakeSource {
	return &fakeSource{snapshot: s, changed: make(chan struct{})}
}

func (s *fakeSource) Snapshot() (*history.Snapshot, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot, s.changed
}

func (s *fakeSource) set(now *history.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshot = now
	close(s.changed)
	s.changed = make(chan struct{})
}

func snapshot() *history.Snapshot {
	return &history.Snapshot{
		Synced: true,
		Undecodable: map[string]error{
			bus.SampleKey("later"): bus.ErrVersion,
		},
		Nodes: []history.Node{
			{
				Name: "node-1",
				GPUs: &bus.NodeGPUs{
					Header:   bus.Header{Version: 1},
					Unit:     growth.GiB,
					Resource: "gpushare/gpu-mem",
					Emulated: true,
					GPUs: []bus.GPU{{
						UUID:    "GPU-1",
						Model:   "Emulated",
						Memory:  24 * growth.GiB,
						Healthy: true,
					}},
				},
				Load: &bus.NodeLoad{
					Header:       bus.Header{Version: 1},
					CPUPool:      1000,
					CPUUsed:      940,
					LoaderBudget: 1,
					Policy:       "flowcon",
				},
			},
			{Name: "node-2", GPUs: &bus.NodeGPUs{Header: bus.Header{Version: 1}, GPUs: []bus.GPU{}}},
		},
		Jobs: []history.Job{
			trainingJob(),
			{
				UID: "u2",
				Sample: &bus.Sample{
					Header: bus.Header{Version: 1},
					Pod: growth.PodRef{
						Namespace: "demo",
						Name:      "young",
						UID:       "u2",
					},
					Node:     "node-1",
					GPUs:     []growth.GPU{"GPU-1"},
					Category: growth.Progressing,
					GPUTime:  &bus.GPUTime{Share: .4, HeldShare: 1},
					ETA: &bus.ETA{
						ETA: gpushare.ETA{
							Likely: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
							Low:    time.Date(2026, 5, 1, 11, 50, 0, 0, time.UTC),
							High:   time.Date(2026, 5, 1, 12, 20, 0, 0, time.UTC),
						},
						Remaining: remaining.Exact(90),
					},
					Deadline: &bus.Deadline{
						At:     time.Date(2026, 5, 1, 11, 55, 0, 0, time.UTC),
						Status: deadline.AtRisk,
						LateBy: &deadline.Degree{Low: -300, Likely: 300, High: 1500},
						GiveWay: &bus.GiveWay{
							Lacking: 120,
							Unit:    growth.GPUSecond,
							Jobs:    []bus.Giving{{Pod: growth.PodRef{Namespace: "demo", Name: "vae", UID: "u1"}, Work: 120, Part: 50}},
							Pause:   true,
						},
					},
				},
			},
			{UID: "gone", Advice: &bus.Advice{Generation: 1}},
		},
	}
}

// trainingJob is a job with all fields, whose advice is not applied yet.
func trainingJob() history.Job {
	loaders := 0
	advised := 1
	batch := 64
	return history.Job{
		UID:            "u1",
		AdviceRevision: 12,
		Advice: &bus.Advice{
			Header:     bus.Header{Version: 1},
			Generation: 2,
			Loaders:    &advised,
			Reason:     "0 → 1",
		},
		Sample: &bus.Sample{
			Header: bus.Header{Version: 1},
			Pod: growth.PodRef{
				Namespace: "demo",
				Name:      "vae",
				UID:       "u1",
			},
			Node:             "node-1",
			GPUs:             []growth.GPU{"GPU-1"},
			Step:             420,
			Epoch:            3,
			TotalSteps:       1000,
			Metric:           "loss",
			Value:            .25,
			Reported:         true,
			Growth:           .5,
			Category:         growth.Progressing,
			CPUUsed:          480,
			Share:            .6,
			CPURequest:       600,
			Weight:           24,
			MemoryUsed:       410,
			GPUMemory:        &bus.GPUMemory{Peak: 3000, Requested: 8192, Measured: true},
			SamplesPerSecond: 512,
			StepSeconds:      .125,
			LoadSeconds:      .05,
			BatchSize:        &batch,
			Loaders:          &loaders,
			Generation:       2,
			Applied:          1,
			Tunable:          []string{"cpu", "loaders"},
			GPUTime: &bus.GPUTime{
				Share:       .6,
				Paused:      true,
				Held:        84,
				Waited:      50,
				Alone:       83.5,
				Work:        83.75,
				HeldShare:   .58,
				WaitedShare: .36,
				Measured:    true,
			},
		},
	}
}

func get(t *testing.T, handler http.Handler, target string) *http.Response {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, target, nil))
	return recorder.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(text)
}

func TestState_Golden(t *testing.T) {
	reply := get(t, handlerOf(newSource(snapshot())), "/api/v1/state")
	require.Equal(t, "application/json", reply.Header.Get("Content-Type"))
	var pretty bytes.Buffer
	require.NoError(t, json.Indent(&pretty, []byte(body(t, reply)), "", "  "))
	if *rewrite {
		require.NoError(t, os.WriteFile("testdata/state.json", pretty.Bytes(), 0o644))
	}
	want, err := os.ReadFile("testdata/state.json")
	require.NoError(t, err)
	require.Equal(t, string(want), pretty.String())

	var decoded api.State
	require.NoError(t, json.Unmarshal(want, &decoded))
	require.Len(t, decoded.Jobs, 2, "a job without a sample is not shown")
	require.Nil(t, decoded.Nodes[1].Load)
}

func TestState_BeforeFirstSync(t *testing.T) {
	reply := get(t, handlerOf(newSource(&history.Snapshot{})), "/api/v1/state")
	require.JSONEq(t, `{"synced":false,"nodes":[],"jobs":[]}`, body(t, reply))
}

func TestState_StaleSnapshot(t *testing.T) {
	s := snapshot()
	s.Err = bus.ErrUnavailable
	var doc api.State
	require.NoError(t, json.Unmarshal([]byte(body(t, get(t, handlerOf(newSource(s)), "/api/v1/state"))), &doc))
	require.Contains(t, doc.Error, "unavailable")
	require.True(t, doc.Synced)
	require.Len(t, doc.Jobs, 2)
}

func TestPage_LoadsNothingExternal(t *testing.T) {
	dashboard := handlerOf(newSource(snapshot()))
	for path, kind := range map[string]string{"/": "text/html", "/page.css": "text/css",
		"/page.js": "text/javascript", "/search.js": "text/javascript"} {
		reply := get(t, dashboard, path)
		require.Equal(t, http.StatusOK, reply.StatusCode, path)
		require.Contains(t, reply.Header.Get("Content-Type"), kind)
		require.Contains(t, reply.Header.Get("Content-Security-Policy"), "default-src 'none'")
		require.Equal(t, "nosniff", reply.Header.Get("X-Content-Type-Options"))
		text := strings.ReplaceAll(body(t, reply), "http://www.w3.org/2000/svg", "")
		require.NotContains(t, text, "://", "nothing is loaded from other hosts")
		require.NotContains(t, text, "innerHTML")
	}
}

func TestDashboard_RejectsUnknownRequests(t *testing.T) {
	dashboard := handlerOf(newSource(snapshot()))
	for target, want := range map[string]int{
		"/api/v1/state?watch=perhaps": http.StatusBadRequest, "/api/v2/state": http.StatusNotFound,
		"/page":  http.StatusNotFound,
		"/page/": http.StatusNotFound, "/metrics": http.StatusNotFound,
	} {
		require.Equal(t, want, get(t, dashboard, target).StatusCode, target)
	}
	recorder := httptest.NewRecorder()
	dashboard.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/api/v1/state", strings.NewReader("{}")))
	require.Equal(t, http.StatusMethodNotAllowed, recorder.Code)
}

// Load balancers and curl -I send HEAD. It has the status and the headers of GET; the stream of changes ends after them.
func TestDashboard_AnswersHEAD(t *testing.T) {
	server := httptest.NewServer(handlerOf(newSource(snapshot())))
	defer server.Close()
	for path, kind := range map[string]string{
		"/": "text/html", "/page.css": "text/css", "/page.js": "text/javascript", "/api/v1/state": "application/json",
		"/api/v1/state?watch=1": "text/event-stream", "/api/v1/programs": "application/json",
	} {
		reply, err := server.Client().Head(server.URL + path)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, reply.StatusCode, path)
		require.Contains(t, reply.Header.Get("Content-Type"), kind, path)
		require.Empty(t, body(t, reply), path)
	}
	reply, err := server.Client().Head(server.URL + "/api/v1/state?watch=perhaps")
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, reply.StatusCode)
}
