package lines_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// collector is a sink that keeps what it receives.
type collector struct {
	reports    []wire.Progress
	restarts   int
	records    int
	example    string
	unreadable error
}

func (c *collector) Report(p wire.Progress, _ bool) { c.reports = append(c.reports, p) }
func (c *collector) Restarted()                     { c.restarts++ }
func (c *collector) Unreadable(err error)           { c.unreadable = err }
func (c *collector) Unmatched(records int, example string) {
	c.records, c.example = records, example
}

func (c *collector) last() wire.Progress { return c.reports[len(c.reports)-1] }

func (c *collector) values() []float64 {
	var values []float64
	for _, p := range c.reports {
		values = append(values, p.Metrics[0].Value)
	}
	return values
}

var start = time.Unix(1_700_000_000, 0)

func TestExtractor_ReadsRecordings(t *testing.T) {
	const nan = -1
	type report struct {
		step, epoch, total int64
		value              float64
	}
	// tqdm writes the last state of a bar twice, so there are two reports more than steps.
	for _, tc := range []struct {
		file, pattern string // without a pattern the formats of files are read
		reports       int
		first, last   report
	}{
		{"tqdm.txt", `loss=([0-9.]+)`, 42, report{1, 0, 0, 2.52}, report{42, 0, 0, 0.3949}},
		{"tqdm.txt", `(?P<step>\d+)/(?P<total>\d+) .*loss=([0-9.]+)`, 42, report{1, 0, 20, 2.52}, report{20, 1, 40, 0.3949}},
		{"tqdm.txt", ``, 42, report{1, 0, 0, 2.52}, report{42, 0, 0, 0.3949}},
		{"lightning.txt", `train_loss=([0-9.]+)`, 26, report{1, 0, 0, 2.52}, report{26, 0, 0, 0.789}},
		{"lightning.txt", `loss=([0-9.]+)`, 26, report{1, 0, 0, 2.52}, report{26, 0, 0, 0.789}},
		{"lightning.txt", `val_loss=([0-9.]+)`, 21, report{1, 0, 0, 1.623}, report{21, 0, 0, 1.623}},
		{"rich.txt", `(?P<step>\d+)/(?P<total>\d+) loss=([0-9.]+)`, 17, report{0, 0, 15, 2.5}, report{15, 0, 15, 1.2226}},
		{"keras.txt", `loss: ([0-9.]+)`, 20, report{1, 0, 0, 2.3903}, report{20, 0, 0, 0.9101}},
		{"keras.txt", ``, 20, report{1, 0, 0, 2.3903}, report{20, 0, 0, 0.9101}},
		{"huggingface.txt", `'loss': ([0-9.]+)`, 8, report{1, 0, 0, 1.9379}, report{8, 0, 0, 0.3801}},
		{"huggingface.txt", `loss': ([0-9.]+)`, 9, report{1, 0, 0, 1.9379}, report{9, 0, 0, 0.9731}},
		{"huggingface.txt", ``, 8, report{1, 0, 0, 1.9379}, report{8, 0, 0, 0.3801}},
		{"json.txt", `"step": "(?P<step>\d+)".*loss": "([0-9.]+)`, 10, report{10, 0, 0, 2208.78}, report{100, 0, 0, 718.45}},
		{"colours.txt", `step (?P<step>\d+).*loss ([0-9.]+)`, 12, report{100, 0, 0, 2.3903}, report{1200, 0, 0, nan}},
	} {
		t.Run(tc.file+" "+tc.pattern, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "recordings", tc.file))
			require.NoError(t, err)
			for _, size := range []int{1, 7, len(text)} {
				reader := lines.NewPlain("loss")
				if tc.pattern != "" {
					reader = lines.NewReader("loss", regexp.MustCompile(tc.pattern))
				}
				var found collector
				x := lines.NewExtractor(reader, &found)
				for at := 0; at < len(text); at += size {
					x.Write(lines.Stdout, text[at:min(len(text), at+size)], start)
					x.Poll(start)
				}
				x.Poll(start.Add(lines.Silence))
				require.Len(t, found.reports, tc.reports)
				first, last := found.reports[0], found.last()
				require.Equal(t, tc.first, report{first.Step, first.Epoch, first.TotalSteps, first.Metrics[0].Value})
				value := last.Metrics[0].Value
				if math.IsNaN(value) {
					value = nan
				}
				require.Equal(t, tc.last, report{last.Step, last.Epoch, last.TotalSteps, value})
			}
		})
	}
}
