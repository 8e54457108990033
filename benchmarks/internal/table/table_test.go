package table_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/table"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/growth"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// run is a small run after a bit more than a minute, with a job in each state.
func run() (*timeline.Timeline, []table.Event) {
	loaders := []int{1, 3}
	nodes := []timeline.Node{
		{Name: "demo-1", Policy: "flowcon", CPUPool: 1000, CPUUsed: 870, Emulated: true, GPUs: []timeline.GPU{
			{UUID: "GPU-a", Memory: 24 * growth.GiB, Healthy: true}, {UUID: "GPU-b", Memory: 24 * growth.GiB},
		}},
		{Name: "demo-2"},
	}
	line := &timeline.Timeline{Name: "flowcon", Began: start}
	var events []table.Event
	for i := range 40 {
		g := growth.Growth(1 - float64(i)/40)
		vae := timeline.Job{
			Name: "vae-1", Kind: "vae", State: timeline.Running, Node: "demo-1", GPU: "GPU-a", GPUMemory: 8 * growth.GiB, Request: 150,
			Sampled: true, Reported: true, Step: int64(10 * i), Steps: 900, Metric: "loss", Value: 0.18321, Growth: g,
			Category: growth.Progressing, Share: 0.54, Memory: 231, Loaders: &loaders[0],
		}
		if i > 30 {
			vae.Category, vae.Request, vae.Loaders = growth.Watching, 540, &loaders[1]
		}
		for _, c := range line.Add(timeline.Reading{At: start.Add(time.Duration(2*i) * time.Second), Nodes: nodes, Jobs: []timeline.Job{
			{Name: "cnn-1", Kind: "cnn", State: timeline.Finished, Node: "demo-1", GPU: "GPU-b", Sampled: true, Reported: true, Step: 300, Steps: 300},
			vae,
			{Name: "gru-1", Kind: "gru", State: timeline.Starting, Node: "demo-1", GPU: "GPU-b", GPUMemory: 6 * growth.GiB, Request: 150, Restarts: 1},
			{Name: "rnn-1", Kind: "rnn", State: timeline.Pending, Request: 150},
			{Name: "lstm-1", Kind: "lstm", State: timeline.Expected},
			{Name: "birnn-1", Kind: "birnn", State: timeline.Failed, Node: "demo-2"},
		}}) {
			events = append(events, table.Described(c))
		}
	}
	return line, events
}

func TestRender_Golden(t *testing.T) {
	line, events := run()
	for name, style := range map[string]table.Style{
		"wide":   {Width: 160},
		"narrow": {Width: 80, Height: 16},
		"colour": {Width: 160, Colour: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := table.Render(line, events, style)
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

func TestRender_ShowsSharesOfGPUsWhereTheirTimeIsDivided(t *testing.T) {
	line, events := run()
	require.NotContains(t, table.Render(line, events, table.Style{Width: 160}), "GPU SHARE")
	jobs := line.Last().Jobs
	for i := range jobs {
		if jobs[i].Name == "vae-1" {
			jobs[i].GPUShare = new(growth.Share(.8125))
		}
	}
	shown := table.Render(line, events, table.Style{Width: 160})
	require.Contains(t, shown, "GPU SHARE")
	require.Regexp(t, `(?m)^.*vae-1.* 81.*540m`, shown)
}

// TestRender_FitsTheWidth covers every width that has room for the columns that are never dropped.
func TestRender_FitsTheWidth(t *testing.T) {
	line, events := run()
	for width := 70; width < 200; width += 7 {
		for height := 8; height < 40; height += 5 {
			frame := table.Render(line, events, table.Style{Width: width, Height: height})
			require.Less(t, strings.Count(frame, "\n"), height)
			for _, text := range strings.Split(frame, "\n") {
				require.LessOrEqual(t, utf8.RuneCountInString(text), width, text)
			}
		}
	}
}

var escape = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")

func TestRender_ColourChangesNothingElse(t *testing.T) {
	line, events := run()
	plain := table.Render(line, events, table.Style{Width: 160})
	coloured := escape.ReplaceAllString(table.Render(line, events, table.Style{Width: 160, Colour: true}), "")
	trimmed := regexp.MustCompile(" +\n").ReplaceAllString(coloured, "\n")
	require.Equal(t, plain, trimmed)
}

func TestLive_RedrawsInPlace(t *testing.T) {
	line, events := run()
	var out bytes.Buffer
	live := table.Live{Out: &out, Size: func() (int, int) { return 100, 30 }}
	live.Show(line)
	require.NotContains(t, out.String(), "A\r", "the first frame is drawn where the cursor is")
	drawn := strings.Count(out.String(), "\n")
	out.Reset()
	live.Say(events[0])
	live.Show(line)
	require.Contains(t, out.String(), "\x1b["+string(rune('0'+drawn/10))+string(rune('0'+drawn%10))+"A\r")
}

func TestPlain_ShowsATableAtIntervals(t *testing.T) {
	line, _ := run()
	var out bytes.Buffer
	plain := table.Plain{Out: &out, Every: 15 * time.Second}
	tables := 0
	for i := 1; i <= len(line.Readings); i++ {
		plain.Show(&timeline.Timeline{Name: line.Name, Began: line.Began, Readings: line.Readings[:i]})
		tables = strings.Count(out.String(), "Trellis, policy")
	}
	require.Equal(t, 5, tables, "78 seconds of readings, two seconds apart")
}

func TestStream_WritesOneObjectPerLine(t *testing.T) {
	var out bytes.Buffer
	table.Stream{Out: &out}.Say(table.Described(timeline.Change{At: start, Job: "vae-1", What: timeline.LoaderChange, From: "1", To: "3"}))
	require.Equal(t, `{"at":"2026-01-02T03:04:05Z","job":"vae-1","from":"bench","text":"data loaders 1 → 3"}`+"\n", out.String())
}
