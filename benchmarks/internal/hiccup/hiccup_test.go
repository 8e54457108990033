package hiccup

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpansMeet(t *testing.T) {
	all := Spans{{10, 20}, {5, 7}} // on two processors
	for name, c := range map[string]struct {
		span Span
		meet bool
	}{
		"before all": {Span{1, 5}, false}, "between": {Span{7, 10}, false}, "after all": {Span{20, 30}, false},
		"around": {Span{9, 21}, true}, "within": {Span{12, 13}, true}, "into the beginning": {Span{8, 11}, true},
		"out of the end": {Span{19, 25}, true}, "the other processor": {Span{4, 6}, true},
	} {
		require.Equal(t, c.meet, all.Meet(c.span), name)
	}
	require.False(t, Spans(nil).Meet(Span{1, 2}))
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	all, err := Read(strings.NewReader(Span{1, 22}.String() + "\n" + Span{333, 4444}.String() + "\n"))
	require.NoError(t, err)
	require.Equal(t, Spans{{1, 22}, {333, 4444}}, all)
	_, err = Read(strings.NewReader("going before all others: operation not permitted\n"))
	require.ErrorContains(t, err, "operation not permitted")
}

// TestMain is the watching process of the test below, when that starts it.
func TestMain(m *testing.M) {
	if os.Getenv("HICCUP_TEST_WATCH") == "" {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := Watch(ctx, os.Stdout); err != nil {
		os.Stdout.WriteString(err.Error())
		os.Exit(1)
	}
}

func TestOtherProgramsAreNoHiccup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can have a thread that goes before all others")
	}
	var done atomic.Bool
	for range 3 * runtime.NumCPU() {
		go func() {
			for !done.Load() {
			}
		}()
	}
	watch := exec.Command(os.Args[0])
	watch.Env = append(os.Environ(), "HICCUP_TEST_WATCH=1")
	said, err := watch.Output()
	done.Store(true)
	if bytes.Contains(said, []byte("operation not permitted")) {
		t.Skip("this root may not go before others")
	}
	require.NoError(t, err, string(said))
	all, err := Read(bytes.NewReader(said))
	require.NoError(t, err)
	var still time.Duration
	for _, s := range all {
		still += s.To - s.From
	}
	t.Logf("%d hiccups, %s of %d processors' second", len(all), still, runtime.NumCPU())
	require.Less(t, still, time.Duration(runtime.NumCPU())*time.Second/4, "the processors were wanted all the time")
}
