package webhook

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compareArgs compares what the handler decodes from a body with what encoding/json alone decodes from it.
func compareArgs(t *testing.T, body string) {
	t.Helper()
	want, refused := decodeNodeArgs(strings.NewReader(body))
	b := &bodies{}
	for range 2 { // the second time the body is cached
		got, err := b.read(httptest.NewRequest(http.MethodPost, "/filter", strings.NewReader(body)))
		require.Equal(t, refused == nil, err == nil, "%v, but encoding/json: %v", err, refused)
		require.Equal(t, want, got)
	}
}

func FuzzNodeArgs(f *testing.F) {
	recorded, _ := filepath.Glob("testdata/v*/*/*-filter.json")
	for _, name := range recorded {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body))
	}
	for _, body := range unusualArgs() {
		f.Add(body)
	}
	f.Fuzz(compareArgs)
}

func TestNodeArgs_MatchEncodingJSON(t *testing.T) {
	for name, body := range unusualArgs() {
		t.Run(name, func(t *testing.T) { compareArgs(t, body) })
	}
}

func unusualArgs() map[string]string {
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
