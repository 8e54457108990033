package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/extender/internal/webhook"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// fakeScheduler rejects node-2 as full and node-3 as unresolvable, and records its calls.
type fakeScheduler struct {
	pod      *corev1.Pod
	nodes    []string
	offered  []scheduler.Candidate
	bound    growth.PodRef
	on       growth.NodeName
	err      error
	verbs    []string
	outcomes []string
}

func (f *fakeScheduler) Filter(pod *corev1.Pod, nodes []string) (scheduler.FilterResult, error) {
	f.pod, f.nodes = pod, nodes
	result := scheduler.FilterResult{Nodes: nodes}
	for _, node := range nodes {
		var status *placement.Status
		switch node {
		case "node-2":
			status = &placement.Status{Reason: "full"}
		case "node-3":
			status = &placement.Status{Reason: "too small", Unresolvable: true}
		}
		result.Statuses = append(result.Statuses, status)
	}
	return result, f.err
}

func (f *fakeScheduler) Prioritize(pod *corev1.Pod, nodes []string) scheduler.PrioritizeResult {
	f.pod, f.nodes = pod, nodes
	points := make([]int8, len(nodes))
	for i := range nodes {
		points[i] = int8(i)
	}
	return scheduler.PrioritizeResult{Nodes: nodes, Points: points}
}

func (f *fakeScheduler) Bind(_ context.Context, pod growth.PodRef, node growth.NodeName) error {
	f.bound, f.on = pod, node
	return f.err
}

func (f *fakeScheduler) Preempt(pod *corev1.Pod, offered []scheduler.Candidate) ([]scheduler.Candidate, error) {
	f.pod, f.offered = pod, offered
	return offered, f.err
}

func (f *fakeScheduler) Inspect(node growth.NodeName) aliyun.Inspection {
	if node == "gone" {
		return aliyun.Inspection{Nodes: []aliyun.Node{}, Error: "nothing is known about node gone"}
	}
	return aliyun.Inspection{Nodes: []aliyun.Node{{Name: "of " + string(node), GPUs: []aliyun.GPU{}}}}
}

func (f *fakeScheduler) Explain(namespace, name string) (scheduler.Explanation, bool) {
	return explanation, namespace == "default" && name == "vae"
}

func (f *fakeScheduler) Answered(verb string, _ time.Duration) { f.verbs = append(f.verbs, verb) }
func (f *fakeScheduler) Bound(outcome string)                  { f.outcomes = append(f.outcomes, outcome) }

func post(f *fakeScheduler, path, body string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	webhook.Handler(f, f, slog.New(slog.DiscardHandler)).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return answer
}

func read[T any](t *testing.T, answer *httptest.ResponseRecorder) T {
	t.Helper()
	require.Equal(t, http.StatusOK, answer.Code, answer.Body)
	require.Equal(t, "application/json", answer.Header().Get("Content-Type"))
	var result T
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &result))
	return result
}

// TestHandler_RecordedBodies answers the recorded bodies of every version.
func TestHandler_RecordedBodies(t *testing.T) {
	recordings, err := filepath.Glob("testdata/v*/*/names-bind.json")
	require.NoError(t, err)
	require.NotEmpty(t, recordings)
	for _, recording := range recordings {
		folder := filepath.Dir(recording)
		t.Run(folder, func(t *testing.T) {
			body := func(name string) string {
				content, err := os.ReadFile(filepath.Join(folder, name))
				require.NoError(t, err)
				return string(content)
			}
			f := &fakeScheduler{}
			byName := read[extenderv1.ExtenderFilterResult](t, post(f, "/filter", body("names-filter.json")))
			require.ElementsMatch(t, []string{"node-1", "node-2", "node-3"}, f.nodes)
			require.Equal(t, extenderv1.ExtenderFilterResult{
				NodeNames: &[]string{"node-1"}, FailedNodes: map[string]string{"node-2": "full"},
				FailedAndUnresolvableNodes: map[string]string{"node-3": "too small"},
			}, byName)
			pod, requests := request.Read(f.pod, gpushare.Resource)
			require.True(t, requests)
			require.NoError(t, pod.Invalid)
			require.Equal(t, 8*growth.GiB, pod.Request.Memory)
			require.Equal(t, wanted[filepath.Base(folder)], pod.Request.ContainerRequests())

			whole := read[extenderv1.ExtenderFilterResult](t, post(f, "/filter", body("nodes-filter.json")))
			require.Nil(t, whole.NodeNames)
			require.Len(t, whole.Nodes.Items, 1)
			require.Equal(t, "node-1", whole.Nodes.Items[0].Name)
			require.NotEmpty(t, whole.Nodes.Items[0].Status.Allocatable, "the whole node is in the result")

			for _, form := range []string{"names", "nodes"} {
				rated := read[extenderv1.HostPriorityList](t, post(f, "/prioritize", body(form+"-prioritize.json")))
				require.Equal(t, extenderv1.HostPriorityList{{Host: f.nodes[1], Score: 1}, {Host: f.nodes[2], Score: 2}}, rated, "a node without points is omitted")
			}

			require.Empty(t, read[extenderv1.ExtenderBindingResult](t, post(f, "/bind", body("names-bind.json"))).Error)
			require.Equal(t, pod.Ref, f.bound, "the same pod from filter to bind")
			require.Equal(t, growth.NodeName("node-1"), f.on)
			require.Equal(t, []string{"filter", "filter", "prioritize", "prioritize", "bind"}, f.verbs)
			require.Equal(t, []string{"bound"}, f.outcomes)
		})
	}
}

// TestPreempt_RecordedBodies answers the recorded bodies of a preemption. Victims are sent by UID or whole, and returned by
// UID.
func TestPreempt_RecordedBodies(t *testing.T) {
	recordings, err := filepath.Glob("testdata/v*/urgent/*-preempt.json")
	require.NoError(t, err)
	require.NotEmpty(t, recordings)
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(name)
			require.NoError(t, err)
			f := &fakeScheduler{}
			result := read[extenderv1.ExtenderPreemptionResult](t, post(f, "/preempt", string(body)))
			require.Equal(t, int32(1000), *f.pod.Spec.Priority)
			require.Len(t, f.offered, 1)
			require.Equal(t, "node-1", f.offered[0].Node)
			require.Equal(t, int64(1), f.offered[0].Violations)
			require.Len(t, f.offered[0].Victims, 1)
			require.Equal(t, map[string]*extenderv1.MetaVictims{
				"node-1": {Pods: []*extenderv1.MetaPod{{UID: string(f.offered[0].Victims[0])}}, NumPDBViolations: 1},
			}, result.NodeNameToMetaVictims)
		})
	}
}

// wanted are the container requests of the recorded pods.
var wanted = map[string][]bus.ContainerRequest{
	"vae":  {{Name: "train", Units: 8}},
	"pair": {{Name: "cache", Units: 2}, {Name: "train", Units: 14}, {Name: "evaluate", Units: 4}},
}

func TestHandler_ErrorsOfDecisions(t *testing.T) {
	f := &fakeScheduler{err: errors.New("try again")}
	require.Equal(t, "try again", read[extenderv1.ExtenderFilterResult](t, post(f, "/filter", `{"Pod":{},"NodeNames":[]}`)).Error)
	f.err = scheduler.ErrOvertaken
	bind := `{"PodName":"p","PodNamespace":"d","PodUID":"u","Node":"n"}`
	require.Equal(t, scheduler.ErrOvertaken.Error(), read[extenderv1.ExtenderBindingResult](t, post(f, "/bind", bind)).Error)
	require.Equal(t, []string{"overtaken"}, f.outcomes)
	preempt := post(f, "/preempt", `{"Pod":{},"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":"u"}]}}}`)
	require.Equal(t, http.StatusServiceUnavailable, preempt.Code, "its result has no field for errors")
}

func TestHandler_RefusesInvalidRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		path, body string
		code       int
		says       string
	}{
		"empty body":               {"/filter", "", 400, "EOF"},
		"not JSON":                 {"/filter", "pod=p", 400, "invalid character"},
		"wrong type":               {"/prioritize", `[]`, 400, "cannot unmarshal"},
		"no pod":                   {"/filter", `{"NodeNames":[]}`, 400, "without a pod"},
		"no nodes":                 {"/prioritize", `{"Pod":{}}`, 400, "neither NodeNames nor Nodes"},
		"two bodies":               {"/bind", `{}{}`, 400, "something after its end"},
		"bind without a pod":       {"/bind", `{"PodName":"p","PodNamespace":"d","Node":"n"}`, 400, "without PodUID"},
		"bind without a node":      {"/bind", `{"PodName":"p","PodNamespace":"d","PodUID":"u"}`, 400, "without Node"},
		"unknown verb":             {"/score", `{}`, 404, "the verbs are"},
		"preemption without a pod": {"/preempt", `{"NodeNameToMetaVictims":{}}`, 400, "without a pod"},
		"preemption without nodes": {"/preempt", `{"Pod":{}}`, 400, "neither NodeNameToMetaVictims nor NodeNameToVictims"},
		"too large":                {"/filter", `"` + strings.Repeat("a", 65<<20), 413, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := post(&fakeScheduler{}, tc.path, tc.body)
			require.Equal(t, tc.code, answer.Code)
			var structured map[string]string
			require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &structured))
			require.Contains(t, structured["error"], tc.says)
		})
	}
	answer := httptest.NewRecorder()
	webhook.Handler(&fakeScheduler{}, &fakeScheduler{}, slog.New(slog.DiscardHandler)).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/filter", http.NoBody))
	require.Equal(t, http.StatusMethodNotAllowed, answer.Code)
}
