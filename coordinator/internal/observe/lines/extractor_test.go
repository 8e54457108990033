package lines_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
)

// session is an extractor whose time and text a test controls.
type session struct {
	*lines.Extractor
	*collector
	now time.Time
}

func newSession(pattern string) *session {
	found := &collector{}
	reader := lines.NewPlain("loss")
	if pattern != "" {
		reader = lines.NewReader("loss", regexp.MustCompile(pattern))
	}
	return &session{lines.NewExtractor(reader, found), found, start}
}

// write adds text and polls at once.
func (s *session) write(text string) {
	s.Write(lines.Stdout, []byte(text), s.now)
	s.Poll(s.now)
}

// wait lets time pass with the usual polls.
func (s *session) wait(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(500 * time.Millisecond)
		s.Poll(s.now)
	}
}

func TestExtractor_ReportsAnUnfinishedRecord(t *testing.T) {
	const pattern = `loss=([0-9.]+)`
	for name, tc := range map[string]struct {
		pattern string
		run     func(s *session)
		want    []float64
	}{
		"at once if text follows the number": {pattern, func(s *session) { s.write("\r 1/9 loss=0.5]") }, []float64{0.5}},
		"not before the number is complete":  {pattern, func(s *session) { s.write("loss=0.5") }, nil},
		"nor while thousands may follow":     {pattern, func(s *session) { s.write("loss=1,2") }, nil},
		"when the stream is silent":          {pattern, func(s *session) { s.write("loss=0.5"); s.wait(lines.Silence) }, []float64{0.5}},
		"when the container restarts":        {pattern, func(s *session) { s.write("loss=0.5"); s.Restart(s.now) }, []float64{0.5}},
		"the last of several values":         {pattern, func(s *session) { s.write("loss=3 loss=2 loss=1 ") }, []float64{1}},
		"the last complete one":              {pattern, func(s *session) { s.write("loss=3 loss=2 loss=1") }, []float64{2}},
		"only once": {pattern, func(s *session) {
			s.write("loss=0.5 ")
			s.wait(time.Minute)
			s.write("acc=1\n")
			s.write("\r")
			s.Restart(s.now)
		}, []float64{0.5}},
		"only once after a silence": {pattern, func(s *session) {
			s.write("loss=0.5")
			s.wait(time.Minute)
			s.write(" acc=1\n")
		}, []float64{0.5}},
		"again if it goes on": {pattern, func(s *session) {
			s.write("loss=3 ")
			s.write("loss=2 ")
			s.write("loss=1 \n")
		}, []float64{3, 2, 1}},
		"again if the number goes on after a silence": {pattern, func(s *session) {
			s.write("loss=0.5")
			s.wait(time.Minute)
			s.write("21\n")
		}, []float64{0.5, 0.521}},
		"not after a buffer that was full": {pattern, func(s *session) {
			s.write(strings.Repeat(" ", 4096-len("loss=0")) + "loss=0")
			s.wait(time.Minute)
			s.write(".5 \n")
		}, []float64{0.5}},
		"not without the step that its expression has": {`loss=([0-9.]+)(?: step=(?P<step>\d+))?`, func(s *session) {
			s.write("loss=0.5 ")
			s.wait(time.Minute)
			s.write("step=3\n")
		}, []float64{0.5}},
		"not at once in a file, where the step may follow": {"", func(s *session) {
			s.write(`{"loss": 0.5, `)
			s.wait(lines.Silence / 2)
			s.write(`"step": 3}` + "\n")
		}, []float64{0.5}},
		"a file with only a number": {"", func(s *session) { s.write("0.5"); s.wait(lines.Silence) }, []float64{0.5}},
		"longer than the bound": {pattern, func(s *session) {
			for range 20 {
				s.write(strings.Repeat("=", lines.MaxText/3) + " loss=0.5 ")
			}
			s.write("\n")
		}, []float64{.5, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(tc.pattern)
			tc.run(s)
			require.Equal(t, tc.want, s.values())
		})
	}
}

func TestExtractor_ACorrectedNumberIsNotANewReport(t *testing.T) {
	s := newSession(`loss=([0-9.]+)`)
	s.write("loss=0.5")
	s.wait(time.Minute)
	s.write("21\nloss=0.4\n")
	var steps []int64
	for _, p := range s.reports {
		steps = append(steps, p.Step)
	}
	require.Equal(t, []int64{1, 1, 2}, steps)
}

func TestExtractor_KeepsTheStreamsApart(t *testing.T) {
	s := newSession(`loss=([0-9.]+)`)
	s.write("\rloss=0.")
	s.Write(lines.Stderr, []byte("loss=7\n"), s.now)
	s.write("5\r")
	require.Equal(t, []float64{7, 0.5}, s.values())
}

func TestExtractor_ReadsNothingTwiceAfterARestartOfTheCoordinator(t *testing.T) {
	s := newSession(`loss=([0-9.]+)`)
	s.Skip()
	s.Mute(true)
	s.write("oss=9\rloss=3\rloss=2 ")
	s.Mute(false)
	s.wait(time.Minute)
	require.Empty(t, s.reports)
	s.write("\rloss=1\r")
	require.Equal(t, []float64{2, 1}, s.values(), "a record that was not complete is read once it is")
}

func TestExtractor_SeparatesRanksOfTorchrun(t *testing.T) {
	text, err := os.ReadFile("testdata/recordings/torchrun.txt")
	require.NoError(t, err)
	s := newSession(`step (?P<step>\d+) loss ([0-9.]+)`)
	s.write(string(text))
	latest := map[int]int64{}
	for _, p := range s.reports {
		require.Greater(t, p.Step, latest[*p.Rank], "no rank goes backwards")
		latest[*p.Rank] = p.Step
	}
	require.Len(t, latest, 3)
}

func TestExtractor_ReportsThatNoLineMatches(t *testing.T) {
	const line = "Epoch 3 | train loss 0.4821 | val loss 0.5110"
	for name, tc := range map[string]struct {
		run     func(s *session)
		records int
	}{
		"many lines soon":           {func(s *session) { s.write(strings.Repeat(line+"\n", 60)); s.wait(30 * time.Second) }, 60},
		"a line long ago":           {func(s *session) { s.write(line + "\n"); s.wait(2 * time.Minute) }, 1},
		"not at once":               {func(s *session) { s.write(strings.Repeat(line+"\n", 60)); s.wait(20 * time.Second) }, 0},
		"not without lines":         {func(s *session) { s.write("\n\r \n"); s.wait(time.Hour) }, 0},
		"not after a line that did": {func(s *session) { s.write("train_loss=1.5\n" + line + "\n"); s.wait(time.Hour) }, 0},
		"not before one that does": {func(s *session) {
			s.write(line + "\n")
			s.wait(time.Minute)
			s.write("train_loss=1.5\n")
			s.wait(time.Hour)
		}, 0},
		"the example has the metric":  {func(s *session) { s.write(line + "\nEpoch done\n"); s.wait(time.Hour) }, 2},
		"the example is made visible": {func(s *session) { s.write("\x1b[31m" + line + "\x1b[0m\n"); s.wait(time.Hour) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(`train_loss=(\d+\.\d+)`)
			tc.run(s)
			require.Equal(t, tc.records, s.records)
			if tc.records == 0 {
				return
			}
			require.Equal(t, line, s.example)
			s.records = 0
			s.wait(time.Hour)
			require.Zero(t, s.records, "once")
		})
	}
}

func TestExtractor_BoundsTheRateOfReports(t *testing.T) {
	s := newSession(`step (?P<step>\d+) loss ([0-9.]+)`)
	for step := range 5000 {
		s.Write(lines.Stdout, fmt.Appendf(nil, "[rank%d] step %d loss 0.5\n", step%2, step), s.now)
	}
	s.Poll(s.now)
	require.Less(t, len(s.reports), 200)
	require.Equal(t, []int64{4998, 4999}, []int64{s.reports[len(s.reports)-2].Step, s.last().Step}, "the newest of each rank")
	s.write("[rank0] step 5000 loss 0.5\n")
	require.Equal(t, int64(5000), s.last().Step)
}

func TestExtractor_BoundsTheExample(t *testing.T) {
	s := newSession(`train_loss=(\d+\.\d+)`)
	s.write("\x00\xff\t" + strings.Repeat("é", 400) + "\n")
	s.wait(time.Hour)
	require.Equal(t, "   "+strings.Repeat("é", 157)+"…", s.example)
}
