package chaos_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
)

// logged is the log of a container, as kubelet serves it.
type logged struct {
	now   time.Time
	lines []string
	times []time.Time
}

func (l *logged) write(text string) {
	l.lines, l.times = append(l.lines, text), append(l.times, l.now)
}

func (l *logged) since(at time.Time) io.Reader {
	var served strings.Builder
	for i, text := range l.lines {
		if !l.times[i].Before(at.Truncate(time.Second)) {
			fmt.Fprintf(&served, "%s %s\n", l.times[i].Format(time.RFC3339Nano), text)
		}
	}
	return strings.NewReader(served.String())
}

// A kubelet is killed because of a line, and is back some seconds later. What its containers write in the meantime is read.
func TestLines_NoneIsLostWhileOneIsHandled(t *testing.T) {
	l := &logged{now: time.Date(2026, 5, 1, 12, 0, 0, 400, time.UTC)}
	since := l.now
	l.write("Saved a")
	var read []string
	handle := func(text string) {
		read = append(read, text)
		if len(read) == 1 { // the stream breaks
			l.now = l.now.Add(2 * time.Second)
			l.write("Saved b")
			l.now = l.now.Add(3 * time.Second)
		}
	}
	chaos.Lines(l.since(since), &since, handle)
	require.Equal(t, []string{"Saved a"}, read)
	chaos.Lines(l.since(since), &since, handle)
	require.Equal(t, []string{"Saved a", "Saved a", "Saved b"}, read)
	chaos.Lines(strings.NewReader("without-a-time\n"), &since, handle)
	require.Equal(t, l.times[1], since)
}
