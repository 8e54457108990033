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

// seed starts a fuzzer with the recorded bodies of a verb, and with what is no body.
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
	for _, nonsense := range []string{"", "{}", "null", `{"Pod":null,"NodeNames":null}`, `{"Pod":{"spec":{"containers":[{}]}},"NodeNames":["",""]}`} {
		f.Add(nonsense)
	}
}

// answered holds for every body: it is an answer or a refusal, in JSON, and never a broken handler.
func answered(t *testing.T, path, body string) *fakeScheduler {
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

// bounded is what every decision does first: whatever a pod says, its request stays within bounds.
func bounded(t *testing.T, f *fakeScheduler) {
	t.Helper()
	if f.pod == nil {
		return
	}
	if pod, asks := request.Read(f.pod, gpushare.Resource); asks {
		if held, misfit := pod.Request.MemoryPerGPU(growth.GiB); misfit.Fits() && held <= 0 {
			t.Fatalf("a request for %s", held)
		}
	}
}

func FuzzFilter(f *testing.F) {
	seed(f, "*-filter.json")
	f.Fuzz(func(t *testing.T, body string) { bounded(t, answered(t, "/filter", body)) })
}

func FuzzPrioritize(f *testing.F) {
	seed(f, "*-prioritize.json")
	f.Fuzz(func(t *testing.T, body string) { bounded(t, answered(t, "/prioritize", body)) })
}

func FuzzBind(f *testing.F) {
	seed(f, "*-bind.json")
	f.Fuzz(func(t *testing.T, body string) {
		if f := answered(t, "/bind", body); len(f.outcomes) > 0 && (f.bound.UID == "" || f.on == "") {
			t.Fatalf("bound %+v to %q", f.bound, f.on)
		}
	})
}

func FuzzPreempt(f *testing.F) {
	seed(f, "*-preempt.json")
	f.Fuzz(func(t *testing.T, body string) { bounded(t, answered(t, "/preempt", body)) })
}
