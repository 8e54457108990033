package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/httpserver"
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
		"/page.js": "text/javascript"} {
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

// Load balancers and curl -I send HEAD. The stream of changes, which has no end, is answered like the state.
func TestDashboard_AnswersHEAD(t *testing.T) {
	server := httptest.NewServer(handlerOf(newSource(snapshot())))
	defer server.Close()
	for _, path := range []string{"/", "/page.css", "/page.js", "/api/v1/state", "/api/v1/state?watch=1", "/api/v1/programs"} {
		reply, err := server.Client().Head(server.URL + path)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, reply.StatusCode, path)
		require.NotEmpty(t, reply.Header.Get("Content-Type"), path)
		require.Empty(t, body(t, reply))
	}
}

// reader is a client of a watch without a network, for tests with synthetic time.
type reader struct {
	header http.Header
	mu     sync.Mutex
	code   int
	events []string
	times  []time.Time
	err    error
}

func (r *reader) Header() http.Header              { return r.header }
func (r *reader) WriteHeader(code int)             { r.code = code }
func (r *reader) Flush()                           {}
func (r *reader) SetWriteDeadline(time.Time) error { return nil }
func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, string(p))
	r.times = append(r.times, time.Now())
	return len(p), r.err
}

// written returns the events written so far and their times.
func (r *reader) written() ([]string, []time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events), slices.Clone(r.times)
}

func follow(t *testing.T, handler http.Handler) (*reader, context.CancelFunc, <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &reader{header: http.Header{}}
	done := make(chan struct{})
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/state?watch=1", nil)
	go func() {
		defer close(done)
		handler.ServeHTTP(r, request)
	}()
	synctest.Wait()
	return r, cancel, done
}

func TestWatch_LimitsEventRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(snapshot())
		r, cancel, done := follow(t, handlerOf(s))
		events, _ := r.written()
		require.Len(t, events, 1, "the current state comes at once")
		for step := range int64(100) { // ten changes a second for ten seconds
			next := snapshot()
			next.Jobs[0].Sample.Step = step
			s.set(next)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Second)
		events, times := r.written()
		require.InDelta(t, 21, len(events), 1)
		for i := 1; i < len(times); i++ {
			require.GreaterOrEqual(t, times[i].Sub(times[i-1]), 500*time.Millisecond)
		}
		last := events[len(events)-1]
		require.True(t, strings.HasPrefix(last, "data: {") && strings.HasSuffix(last, "}\n\n"))
		require.Contains(t, last, `"step":99`, "the last change is always sent")

		s.set(s.snapshot)
		time.Sleep(10 * time.Second)
		quiet, _ := r.written()
		require.Len(t, quiet, len(events), "an equal document is not sent again")
		time.Sleep(time.Minute)
		events, _ = r.written()
		require.Equal(t, "event: heartbeat\ndata: still here\n\n", events[len(events)-1], "a page sees no comments")
		cancel()
		<-done
	})
}

func TestWatch_DropsBrokenClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(snapshot())
		r, cancel, done := follow(t, handlerOf(s))
		defer cancel()
		r.mu.Lock()
		r.err = errors.New("broken pipe")
		r.mu.Unlock()
		s.set(&history.Snapshot{})
		<-done
	})
}

func TestWatch_LimitsClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dashboard := handlerOf(newSource(snapshot()))
		for range 64 {
			_, cancel, _ := follow(t, dashboard)
			defer cancel()
		}
		r, _, done := follow(t, dashboard)
		<-done
		require.Equal(t, http.StatusServiceUnavailable, r.code)
		require.Equal(t, http.StatusOK, get(t, dashboard, "/api/v1/state").StatusCode)
	})
}

func TestDashboard_EndsWatchesOnShutdown(t *testing.T) {
	server, err := httpserver.Listen("127.0.0.1:0", httpserver.Config{Handler: handlerOf(newSource(snapshot())), EndStreams: true})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Run() }()
	reply, err := http.Get("http://" + server.Addr().String() + "/api/v1/state?watch=1")
	require.NoError(t, err)
	defer reply.Body.Close()
	first := make([]byte, 6)
	_, err = io.ReadFull(reply.Body, first)
	require.NoError(t, err)
	require.Equal(t, "data: ", string(first))
	server.Stop()
	require.NoError(t, <-ended)
	_, err = io.ReadAll(reply.Body)
	require.NoError(t, err, "the stream ends, it is not cut off")
}
