package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// agrees compares what is understood of a body with what encoding/json alone understands of it.
func agrees(t *testing.T, body string) {
	t.Helper()
	want, refused := decodeArgs(strings.NewReader(body))
	b := &bodies{}
	for range 2 { // the second time the body is remembered
		got, err := b.args(httptest.NewRequest(http.MethodPost, "/filter", strings.NewReader(body)))
		require.Equal(t, refused == nil, err == nil, "%v, but encoding/json: %v", err, refused)
		require.Equal(t, want, got)
	}
}

// TestThePodIsRememberedBeyondOneBody asks about one pod and two sets of nodes, as filter and prioritize do in a full cluster,
// and then about another pod.
func TestThePodIsRememberedBeyondOneBody(t *testing.T) {
	b := &bodies{}
	ask := func(body string) candidates {
		got, err := b.args(httptest.NewRequest(http.MethodPost, "/filter", strings.NewReader(body)))
		require.NoError(t, err)
		want, err := decodeArgs(strings.NewReader(body))
		require.NoError(t, err)
		require.Equal(t, want, got)
		return got
	}
	all := ask(`{"Pod":{"metadata":{"name":"p"}},"Nodes":null,"NodeNames":["a","b"]}`)
	fit := ask(`{"Pod":{"metadata":{"name":"p"}},"Nodes":null,"NodeNames":["b"]}`)
	require.Same(t, all.pod, fit.pod)
	ask(`{"Pod":{"metadata":{"name":"q"}},"Nodes":null,"NodeNames":["b"]}`)
}

// TestListsAreRemembered asks about the same pod and two lists in turn, then about ever new lists.
func TestListsAreRemembered(t *testing.T) {
	b := &bodies{}
	ask := func(list string) []string {
		got, err := b.args(httptest.NewRequest(http.MethodPost, "/filter", strings.NewReader(`{"Pod":{},"NodeNames":`+list+`}`)))
		require.NoError(t, err)
		return got.names
	}
	all, fit := ask(`["a", "b"]`), ask(`["b"]`)
	require.Equal(t, []string{"a", "b"}, all)
	require.Equal(t, []string{"b"}, fit)
	require.Same(t, &all[0], &ask(`["a", "b"]`)[0])
	require.Same(t, &fit[0], &ask(`["b"]`)[0])
	require.Equal(t, []string{"a"}, ask(`["a"]`), "which the other one begins with, but for a bracket")
	for i := range 3 * mostLists {
		require.Equal(t, []string{strconv.Itoa(i)}, ask(fmt.Sprintf(`["%d"]`, i)))
	}
	require.Len(t, b.last.Load().lists, mostLists)
	require.Empty(t, ask(`[]`))
	require.Equal(t, []string{strings.Repeat("x", mostText)}, ask(`["`+strings.Repeat("x", mostText)+`"]`))
	require.Less(t, len(b.last.Load().lists[0].text), 10, "a list of that size is not kept")
}

func FuzzArgs(f *testing.F) {
	recorded, _ := filepath.Glob("testdata/v*/*/*-filter.json")
	for _, name := range recorded {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body))
	}
	for _, body := range bodiesOfAllSorts() {
		f.Add(body)
	}
	f.Fuzz(agrees)
}

func bodiesOfAllSorts() map[string]string {
	return map[string]string{
		"the usual":                 `{"Pod":{"metadata":{"name":"p"}},"Nodes":null,"NodeNames":["a","b"]}`,
		"spaced, in another order":  " {\t\"NodeNames\" : [ \"a\" , \"b\" ] ,\n\"Pod\": {} } ",
		"no names":                  `{"Pod":{},"NodeNames":[]}`,
		"names that are null":       `{"Pod":{},"NodeNames":null}`,
		"an escaped name":           `{"Pod":{},"NodeNames":["\u0061","b\"c"]}`,
		"a name beyond ASCII":       `{"Pod":{},"NodeNames":["ä"]}`,
		"a name that is no text":    "{\"Pod\":{},\"NodeNames\":[\"\xff\"]}",
		"a name that is a number":   `{"Pod":{},"NodeNames":[1]}`,
		"a name without an end":     `{"Pod":{},"NodeNames":["a`,
		"names without an end":      `{"Pod":{},"NodeNames":["a"`,
		"a comma too much":          `{"Pod":{},"NodeNames":["a",]}`,
		"a comma too few":           `{"Pod":{}"NodeNames":["a" "b"]}`,
		"a comma at the end":        `{"Pod":{},"NodeNames":["a"],}`,
		"keys in other cases":       `{"pod":{},"nodenames":["a"]}`,
		"a pod twice":               `{"Pod":{"metadata":{"name":"p"}},"Pod":{},"NodeNames":["a"]}`,
		"names twice":               `{"Pod":{},"NodeNames":["a","b"],"NodeNames":["c"]}`,
		"an unknown key":            `{"Pod":{},"NodeNames":["a"],"New":[{}]}`,
		"a pod of another type":     `{"Pod":[],"NodeNames":["a"]}`,
		"braces within strings":     `{"Pod":{"metadata":{"name":"}{\"\\"}},"NodeNames":["a"]}`,
		"a pod that is no JSON":     `{"Pod":{"a":},"NodeNames":["a"]}`,
		"brackets that do not pair": `{"Pod":{"metadata":[}},"NodeNames":["a"]}`,
		"a pod that ends early":     `{"Pod":}{,"NodeNames":["a"]}`,
		"something after the end":   `{"Pod":{},"NodeNames":["a"]}{}`,
		"whole nodes":               `{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}}]},"NodeNames":null}`,
		"a name with a tab":         "{\"Pod\":{},\"NodeNames\":[\"a\tb\"]}",
		"nodes that are no value":   `{"Pod":{},"Nodes":nul,"NodeNames":["a"]}`,
	}
}

func TestScanUnderstandsWhatEncodingJSONDoes(t *testing.T) {
	for name, body := range bodiesOfAllSorts() {
		t.Run(name, func(t *testing.T) { agrees(t, body) })
	}
}

// TestTheUsualBodiesAreScanned keeps the scanner from passing all tests by knowing nothing.
func TestTheUsualBodiesAreScanned(t *testing.T) {
	recorded, err := filepath.Glob("testdata/v*/*/names-*i*t*.json") // filter and prioritize
	require.NoError(t, err)
	require.NotEmpty(t, recorded)
	for _, name := range recorded {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		p, ok := scan(body, nil)
		require.True(t, ok, name)
		require.ElementsMatch(t, []string{"node-1", "node-2", "node-3"}, p.names.names)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add("node-1", "GPU memory: 8GiB asked", int8(10))
	f.Add("\"\\\x00<ä\xff", "\n", int8(-1))
	f.Fuzz(func(t *testing.T, node, reason string, points int8) {
		crowded := &placement.Status{Reason: reason + "c"}
		hopeless := &placement.Status{Reason: reason + "h", Unresolvable: true}
		for names, misfits := range map[int][]*placement.Status{
			0: {}, 1: {nil}, 2: {crowded, crowded}, 3: {hopeless, nil, hopeless}, 4: {nil, hopeless, crowded, crowded}, 5: {crowded, hopeless, crowded, nil, nil},
		} {
			found := scheduler.Filtered{Nodes: []string{node, node + "b", "c", "d" + node, "e"}[:names], Misfits: misfits}
			fit := found.Fit()
			same[extenderv1.ExtenderFilterResult](t, sorted(found), extenderv1.ExtenderFilterResult{
				NodeNames: &fit, FailedNodes: found.Refused(false), FailedAndUnresolvableNodes: found.Refused(true),
			})
		}
		same[extenderv1.HostPriorityList](t, rated{}, extenderv1.HostPriorityList{})
		same[extenderv1.HostPriorityList](t, rated{Nodes: []string{"a", node, "b", node}, Points: []int8{0, points | 1, 0, 1}},
			extenderv1.HostPriorityList{{Host: node, Score: int64(points | 1)}, {Host: node, Score: 1}})
	})
}

// FuzzPlain compares what is taken for plain with a look at one character after another.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{"", "node-1", "gpu-node-00001", "12345678", "a\\345678", "1234567\"", "\x7f2345678", "1234567\x80", "\x1f", "~ ~ ~ ~ ~ ~ ~ ~ \x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' })
		require.Equal(t, want, plain(text), "%q", text)
	})
}

// same holds when a reader of the answer gets what it would get of encoding/json's.
func same[T any](t *testing.T, answer text, twin T) {
	t.Helper()
	encoded, err := json.Marshal(twin)
	require.NoError(t, err)
	var want, got T
	require.NoError(t, json.Unmarshal(encoded, &want))
	require.NoError(t, json.Unmarshal(answer.appendJSON(nil), &got))
	require.Equal(t, want, got)
}
