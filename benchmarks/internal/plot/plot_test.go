package plot_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/plot"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/growth"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// run returns four jobs whose growth decays. With weighted, a growing job has a larger share.
func run(name string, weighted bool) *timeline.Timeline {
	line := &timeline.Timeline{Name: name, Began: start}
	nodes := []timeline.Node{{Name: "demo-1", Emulated: true, GPUs: []timeline.GPU{{UUID: "GPU-a"}, {UUID: "GPU-b"}}}}
	for second := 0; second <= 200; second += 2 {
		reading := timeline.Reading{At: start.Add(time.Duration(second) * time.Second), Nodes: nodes}
		for j, kind := range []string{"vae", "cnn", "gru", "lstm"} {
			arrival, length := 20*j, 100+15*j
			if !weighted {
				length += 20 - 12*j
			}
			job := timeline.Job{Name: fmt.Sprintf("%s-%d", kind, j), Kind: kind, State: timeline.Expected}
			age := second - arrival
			switch {
			case age > length:
				job.State = timeline.Finished
				job.Submitted = start.Add(time.Duration(arrival) * time.Second)
				job.Ended = job.Submitted.Add(time.Duration(length) * time.Second)
			case age >= 0:
				g := math.Exp(-float64(age) / (30 + 10*float64(j)))
				job.State, job.Sampled, job.Reported = timeline.Running, true, age > 4
				job.Node, job.GPU = "demo-1", growth.GPU("GPU-"+string(rune('a'+j%2)))
				job.Growth, job.Share, job.Category = growth.Growth(g), 0.25, category(g)
				if weighted {
					job.Share = growth.Share(math.Ceil(g*5) / 10)
				}
			}
			reading.Jobs = append(reading.Jobs, job)
		}
		line.Add(reading)
	}
	return line
}

func category(g float64) growth.Category {
	switch {
	case g < 0.1:
		return growth.Converged
	case g < 0.35:
		return growth.Watching
	}
	return growth.Progressing
}

func TestSVG(t *testing.T) {
	for name, other := range map[string]*timeline.Timeline{"run": nil, "compared": run("fair", false)} {
		t.Run(name, func(t *testing.T) {
			got := plot.SVG(run("flowcon", true), other)
			require.NoError(t, wellFormed(got))
			golden := "testdata/" + name + ".svg"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.True(t, string(want) == got, "the drawing is not %s any more: look at it, then run with -update", golden)
		})
	}
}

func TestSVG_SharesOfGPUs(t *testing.T) {
	line := run("harmless", true)
	require.NotContains(t, plot.SVG(line, nil), `class="gpu"`)
	for _, reading := range line.Readings {
		job := &reading.Jobs[1]
		if job.State == timeline.Running {
			job.GPUShare = new(job.Share / 2)
		}
	}
	got := plot.SVG(line, nil)
	require.NoError(t, wellFormed(got))
	require.Contains(t, got, "CPU share, GPU share and growth of each job")
	require.Equal(t, 2, strings.Count(got, `class="gpu"`), "the legend and one job")
}

func TestSVG_OfAnEmptyRun(t *testing.T) {
	require.NoError(t, wellFormed(plot.SVG(&timeline.Timeline{Name: "flowcon"}, nil)))
	line := &timeline.Timeline{Name: "<&>"}
	line.Add(timeline.Reading{At: start, Jobs: []timeline.Job{{Name: "a<b", Kind: "vae", State: timeline.Gone}}})
	got := plot.SVG(line, line)
	require.NoError(t, wellFormed(got))
	require.Contains(t, got, "a&lt;b")
	require.NotContains(t, got, "NaN")
}

func wellFormed(text string) error {
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
