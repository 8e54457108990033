package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parsed returns the sources of a repository whose only package is in coordinator/.
func parsed(t *testing.T, code string) []*source {
	t.Helper()
	root := t.TempDir()
	for _, module := range modules {
		if err := os.MkdirAll(filepath.Join(root, module), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "coordinator", "a.go"), []byte("package a\n"+code), 0o644); err != nil {
		t.Fatal(err)
	}
	sources, err := readSources(root)
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("the error is %v, it should contain %q", err, part)
	}
}

func TestFindMetrics_EvaluatesConstants(t *testing.T) {
	for name, tc := range map[string]struct {
		code string
		want metric
	}{
		"options": {
			`var c = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "x_total", Help: "What it counts."}, []string{"result"})`,
			metric{Name: "x_total", Kind: "counter", Help: "What it counts.", Labels: []string{"result"}},
		},
		"a constant label": {
			`var g = f.NewGauge(prometheus.GaugeOpts{Name: "x", Help: "What it " + "shows.", ConstLabels: prometheus.Labels{"version": v}})`,
			metric{Name: "x", Kind: "gauge", Help: "What it shows.", Labels: []string{"version"}},
		},
		"a function": {
			`func d(name string, labels ...string) *prometheus.Desc {
				return prometheus.NewDesc("job_"+name, "What it is.", append([]string{"pod"}, labels...), nil)
			}
			var io = d("io_total", "way")`,
			metric{Name: "job_io_total", Kind: "counter", Help: "What it is.", Labels: []string{"pod", "way"}},
		},
		"a closure": {
			`func all() {
				gauge := func(name, help string) { prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + name, Help: help}, nil) }
				gauge("up", "Is it up.")
			}
			const prefix = "x_"`,
			metric{Name: "x_up", Kind: "gauge", Help: "Is it up."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := findMetrics(parsed(t, tc.code))
			if err != nil || len(got) != 1 {
				t.Fatalf("%v, error %v", got, err)
			}
			tc.want.Module = "coordinator"
			if got[0].Name != tc.want.Name || got[0].Kind != tc.want.Kind || got[0].Help != tc.want.Help || !slices.Equal(got[0].Labels, tc.want.Labels) {
				t.Errorf("got %+v, want %+v", got[0], tc.want)
			}
		})
	}
}

func TestFindMetrics_RefusesMetricsWithoutHelp(t *testing.T) {
	_, err := findMetrics(parsed(t, `var c = prometheus.NewCounter(prometheus.CounterOpts{Name: "x_total", Help: ""})`))
	wantError(t, err, "metric x_total has no help")
	_, err = findMetrics(parsed(t, `var c = prometheus.NewCounter(prometheus.CounterOpts{Name: "x_total"})`))
	wantError(t, err, "name and help must be constants")
}

const recorder = `
func (r *R) record(warning bool, reason, message string) { r.out.Event(nil, reason, message) }
func (r *R) changed(reason, what string) { r.record(false, reason, what) }
func (r *R) use() {
	r.record(true, "FirstReason", "text")
	r.changed("SecondReason", "text")
	r.record(true, "Resize"+r.status, "text")
	r.write(&v1.Event{Reason: "ThirdReason"})
	r.log("NoReason", "text")
}`

func TestFindEvents_ReadsReasons(t *testing.T) {
	sources := parsed(t, recorder)
	positions := reasonPositions(sources)
	if positions["record"] != 1 || positions["changed"] != 0 {
		t.Fatalf("positions of the reason: %v", positions)
	}
	_, err := findEvents(sources)
	for _, reason := range []string{"FirstReason", "SecondReason", "ThirdReason"} {
		wantError(t, err, "no explanation of the event "+reason)
	}
	if strings.Contains(err.Error(), "NoReason") {
		t.Errorf("a message was taken for a reason: %v", err)
	}
}

func TestExplain_NamesWhatIsMissing(t *testing.T) {
	_, err := explain(map[string]found{"New": {Reason: "New", Where: "a.go:1"}}, []explanation{{Reason: "Old", Meaning: "m"}})
	wantError(t, err, "a.go:1: eventtable.go has no explanation of the event New")
	wantError(t, err, "no code records the event Old")
	wantError(t, err, "event Old needs a meaning and advice")
}
