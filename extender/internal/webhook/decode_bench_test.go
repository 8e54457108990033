package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkDecode decodes a body with 5,000 names, as the handler does, and with encoding/json alone.
func BenchmarkDecode(b *testing.B) {
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprintf("gpu-node-%05d", i)
	}
	encoded, err := json.Marshal(map[string]any{"Pod": map[string]any{"metadata": map[string]any{"name": "p", "namespace": "d"}}, "NodeNames": names})
	if err != nil {
		b.Fatal(err)
	}
	body := string(encoded)
	b.Run("handler", func(b *testing.B) {
		b.ReportAllocs()
		var bodies bodies
		for b.Loop() {
			if _, err := bodies.read(httptest.NewRequest(http.MethodPost, "/filter", strings.NewReader(body))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeNodeArgs(strings.NewReader(body)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
