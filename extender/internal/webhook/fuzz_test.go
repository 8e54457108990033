package webhook_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// seed adds the recorded bodies of a verb, and invalid bodies.
func seed(f *testing.F, pattern string) {
	f.Helper()
	recorded, _ := filepath.Glob("testdata/v*/*/" + pattern)
	for _, name := range recorded {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body))
	}
	for _, invalid := range []string{"", "{}", "null", `{"Pod":null,"NodeNames":null}`, `{"Pod":{"spec":{"containers":[{}]}},"NodeNames":["",""]}`} {
		f.Add(invalid)
	}
}

// requireAnswer requires that any body gets a result or an error, in JSON.
func requireAnswer(t *testing.T, path, body string) *fakeScheduler {
	t.Helper()
	f := &fakeScheduler{}
	answer := post(f, path, body)
	if answer.Code != 200 && answer.Code != 400 {
		t.Fatalf("%s answered %d: %s", path, answer.Code, answer.Body)
	}
	if !json.Valid(answer.Body.Bytes()) {
		t.Fatalf("%s answered no JSON: %s", path, answer.Body)
	}
	return f
}

// requireBounded requires that the request of any pod is within bounds, as decisions assume.
func requireBounded(t *testing.T, f *fakeScheduler) {
	t.Helper()
	if f.pod == nil {
		return
	}
	if pod, requests := request.Read(f.pod, gpushare.Resource); requests {
		if memory, status := pod.Request.MemoryPerGPU(growth.GiB); status.Fits() && memory <= 0 {
			t.Fatalf("a request for %s", memory)
		}
	}
}

func FuzzFilter(f *testing.F) {
	seed(f, "*-filter.json")
	f.Fuzz(func(t *testing.T, body string) { requireBounded(t, requireAnswer(t, "/filter", body)) })
}

func FuzzPrioritize(f *testing.F) {
	seed(f, "*-prioritize.json")
	f.Fuzz(func(t *testing.T, body string) { requireBounded(t, requireAnswer(t, "/prioritize", body)) })
}

func FuzzBind(f *testing.F) {
	seed(f, "*-bind.json")
	f.Fuzz(func(t *testing.T, body string) {
		if f := requireAnswer(t, "/bind", body); len(f.outcomes) > 0 && (f.bound.UID == "" || f.on == "") {
			t.Fatalf("bound %+v to %q", f.bound, f.on)
		}
	})
}

func FuzzPreempt(f *testing.F) {
	seed(f, "*-preempt.json")
	f.Fuzz(func(t *testing.T, body string) { requireBounded(t, requireAnswer(t, "/preempt", body)) })
}
