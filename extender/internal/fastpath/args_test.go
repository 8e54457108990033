package fastpath

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compareArgs compares what is decoded from a body with what encoding/json alone decodes from it.
func compareArgs(t *testing.T, body string) {
	t.Helper()
	want, err := referenceArgs(body)
	c := &ArgsCache[pod]{}
	for range 2 { // the second time the body is cached
		got, ok := c.Decode([]byte(body))
		if !ok {
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func FuzzArgs(f *testing.F) {
	recorded, _ := filepath.Glob("../webhook/testdata/v*/*/*-filter.json")
	for _, name := range recorded {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body))
	}
	for _, body := range bodies() {
		f.Add(body)
	}
	f.Fuzz(compareArgs)
}

func TestArgsCache_MatchesEncodingJSON(t *testing.T) {
	for name, body := range bodies() {
		t.Run(name, func(t *testing.T) { compareArgs(t, body) })
	}
}

// TestArgsCache_DecodesUsualBodies keeps Decode from passing all tests by knowing no form at all.
func TestArgsCache_DecodesUsualBodies(t *testing.T) {
	recorded, err := filepath.Glob("../webhook/testdata/v*/*/names-*i*t*.json") // filter and prioritize
	require.NoError(t, err)
	require.NotEmpty(t, recorded)
	for _, name := range recorded {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		args, ok := new(ArgsCache[pod]).Decode(body)
		require.True(t, ok, name)
		require.ElementsMatch(t, []string{"node-1", "node-2", "node-3"}, args.NodeNames)
	}
}

// TestArgsCache_KeepsPod decodes one pod with two sets of nodes, as for filter and prioritize in a full cluster, and then
// another pod.
func TestArgsCache_KeepsPod(t *testing.T) {
	c := &ArgsCache[pod]{}
	decode := func(body string) Args[pod] {
		got, ok := c.Decode([]byte(body))
		require.True(t, ok)
		want, err := referenceArgs(body)
		require.NoError(t, err)
		require.Equal(t, want, got)
		return got
	}
	all := decode(`{"Pod":{"metadata":{"name":"p"}},"Nodes":null,"NodeNames":["a","b"]}`)
	fit := decode(`{"Pod":{"metadata":{"name":"p"}},"Nodes":null,"NodeNames":["b"]}`)
	require.Same(t, all.Pod, fit.Pod)
	decode(`{"Pod":{"metadata":{"name":"q"}},"Nodes":null,"NodeNames":["b"]}`)
}

// TestArgsCache_KeepsLists decodes the same pod with two lists in turn, then with ever new lists.
func TestArgsCache_KeepsLists(t *testing.T) {
	c := &ArgsCache[pod]{}
	decode := func(list string) []string {
		got, ok := c.Decode([]byte(`{"Pod":{},"NodeNames":` + list + `}`))
		require.True(t, ok)
		return got.NodeNames
	}
	all, fit := decode(`["a", "b"]`), decode(`["b"]`)
	require.Equal(t, []string{"a", "b"}, all)
	require.Equal(t, []string{"b"}, fit)
	require.Same(t, &all[0], &decode(`["a", "b"]`)[0])
	require.Same(t, &fit[0], &decode(`["b"]`)[0])
	require.Equal(t, []string{"a"}, decode(`["a"]`), "the other list starts like it, but for a bracket")
	for i := range 3 * maxLists {
		require.Equal(t, []string{strconv.Itoa(i)}, decode(fmt.Sprintf(`["%d"]`, i)))
	}
	require.Len(t, c.recent.Load().lists, maxLists)
	require.Empty(t, decode(`[]`))
	require.Equal(t, []string{strings.Repeat("x", maxListText)}, decode(`["`+strings.Repeat("x", maxListText)+`"]`))
	require.Less(t, len(c.recent.Load().lists[0].text), 10, "a list of that size is not kept")
}

func TestArgsCache_ListTooLargeToKeep(t *testing.T) {
	c := &ArgsCache[pod]{}
	body := []byte(`{"Pod":{},"NodeNames":["` + strings.Repeat("x", maxListText) + `"]}`)
	for range 2 {
		args, ok := c.Decode(body)
		require.True(t, ok)
		require.Len(t, args.NodeNames, 1)
	}
}

func bodies() map[string]string {
	return map[string]string{
		"usual":                     `{"Pod":{"metadata":{"name":"p"}},"Nodes":null,"NodeNames":["a","b"]}`,
		"spaces, other order":       " {\t\"NodeNames\" : [ \"a\" , \"b\" ] ,\n\"Pod\": {} } ",
		"no names":                  `{"Pod":{},"NodeNames":[]}`,
		"names null":                `{"Pod":{},"NodeNames":null}`,
		"escaped name":              `{"Pod":{},"NodeNames":["\u0061","b\"c"]}`,
		"name beyond ASCII":         `{"Pod":{},"NodeNames":["ä"]}`,
		"name not UTF-8":            "{\"Pod\":{},\"NodeNames\":[\"\xff\"]}",
		"name a number":             `{"Pod":{},"NodeNames":[1]}`,
		"name not closed":           `{"Pod":{},"NodeNames":["a`,
		"names not closed":          `{"Pod":{},"NodeNames":["a"`,
		"extra comma":               `{"Pod":{},"NodeNames":["a",]}`,
		"missing comma":             `{"Pod":{}"NodeNames":["a" "b"]}`,
		"comma at the end":          `{"Pod":{},"NodeNames":["a"],}`,
		"keys in other cases":       `{"pod":{},"nodenames":["a"]}`,
		"pod twice":                 `{"Pod":{"metadata":{"name":"p"}},"Pod":{},"NodeNames":["a"]}`,
		"names twice":               `{"Pod":{},"NodeNames":["a","b"],"NodeNames":["c"]}`,
		"unknown key":               `{"Pod":{},"NodeNames":["a"],"New":[{}]}`,
		"pod of another type":       `{"Pod":[],"NodeNames":["a"]}`,
		"braces in strings":         `{"Pod":{"metadata":{"name":"}{\"\\"}},"NodeNames":["a"]}`,
		"pod not JSON":              `{"Pod":{"a":},"NodeNames":["a"]}`,
		"brackets that do not pair": `{"Pod":{"metadata":[}},"NodeNames":["a"]}`,
		"pod that ends early":       `{"Pod":}{,"NodeNames":["a"]}`,
		"text after the end":        `{"Pod":{},"NodeNames":["a"]}{}`,
		"whole nodes":               `{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}}]},"NodeNames":null}`,
		"name with a tab":           "{\"Pod\":{},\"NodeNames\":[\"a\tb\"]}",
		"nodes not a value":         `{"Pod":{},"Nodes":nul,"NodeNames":["a"]}`,
	}
}
