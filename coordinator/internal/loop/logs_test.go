package loop_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/podlog"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// logDisk is kubelet's folder of logs on a real disk.
type logDisk struct {
	t    *testing.T
	root string
}

// write appends to the log of a job's container.
func (d logDisk) write(name string, entries ...string) {
	folder := podlog.Folder(d.root, ref(name), "train")
	require.NoError(d.t, os.MkdirAll(folder, 0o755))
	f, err := os.OpenFile(filepath.Join(folder, "0.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(d.t, err)
	_, err = f.WriteString(strings.Join(entries, ""))
	require.NoError(d.t, err)
	require.NoError(d.t, f.Close())
}

// cri returns an entry in the CRI format. tag is P or F.
func cri(tag, text string) string {
	return "2026-11-20T20:17:09.669794202Z stderr " + tag + " " + text + "\n"
}

// withLogs runs a test with a coordinator that reads logs from a disk.
func withLogs(t *testing.T, test func(t *testing.T, h *harness, disk logDisk)) {
	t.Helper()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.logs = podlog.Logs{Root: root, Log: slog.New(slog.DiscardHandler)}
		h.start(policy.FlowCon)
		test(t, h, logDisk{t, root})
	})
}

// A progress bar is one line for a whole epoch, which the container runtime splits where its buffer is full.
func TestLogs_AProgressBarIsReadWhileItMoves(t *testing.T) {
	const steps, entry = 1200, 16 << 10
	loss := func(step int) float64 { return 3 - 2*float64(step)/steps }
	var bars strings.Builder
	for step := 1; step <= steps; step++ {
		fmt.Fprintf(&bars, "\r epoch 1: %3d%%|%-20s| %d/%d [00:16<01:06, 12.4it/s, loss=%.4f]",
			100*step/steps, strings.Repeat("#", 20*step/steps), step, steps, loss(step))
	}
	for name, pattern := range map[string]string{
		"counted":    `loss=([0-9.]+)`,
		"with steps": `(?P<step>\d+)/(?P<total>\d+) \[.*loss=([0-9.]+)`,
	} {
		t.Run(name, func(t *testing.T) {
			withLogs(t, func(t *testing.T, h *harness, disk logDisk) {
				h.arrive("a", gpushare.ProgressAnnotation+"=log:"+pattern)
				text := bars.String()
				before := 0.0
				for ; len(text) > entry; text = text[entry:] {
					disk.write("a", cri("P", text[:entry]))
					h.advance(interval)
					got := h.sample("a")
					require.InDelta(t, loss(int(got.Step)), got.Value, 1e-4)
					require.Greater(t, float64(got.Step), before)
					before = float64(got.Step)
				}
				disk.write("a", cri("F", text))
				h.advance(interval)
				require.Equal(t, int64(steps), h.sample("a").Step)
				require.InDelta(t, loss(steps), h.sample("a").Value, 1e-4)

				disk.write("a", cri("F", "\r eval:  50%| loss=1.4000\r eval: 100%| loss=1.4100"))
				h.advance(interval)
				require.InDelta(t, loss(steps), h.sample("a").Value, 1e-4, "an evaluation is not the training")
				require.Zero(t, h.countEvents("JobRestarted"))
			})
		})
	}
}

func TestLogs_APatternThatNeverMatchesIsReportedOnce(t *testing.T) {
	withLogs(t, func(t *testing.T, h *harness, disk logDisk) {
		h.arrive("a", gpushare.ProgressAnnotation+`=log:train_loss=(\d+\.\d+)`)
		for i := range 300 {
			disk.write("a", cri("F", fmt.Sprintf("Epoch %d | train loss %.4f | val loss 0.9", i, 1-float64(i)/1000)))
			h.advance(2 * time.Second)
			if i == 65 {
				require.Equal(t, 1, h.countEvents("a LogUnmatched: "), "after two minutes")
			}
		}
		require.Equal(t, 1, h.countEvents("a LogUnmatched: "))
		require.Equal(t, 1, h.countEvents(`matches log:train_loss=(\d+\.\d+). One of them is "Epoch `))
	})
}

// Most expressions match only digits.
func TestLogs_ALossThatBecomesNaNIsReported(t *testing.T) {
	withLogs(t, func(t *testing.T, h *harness, disk logDisk) {
		h.arrive("a", gpushare.ProgressAnnotation+`=log:step (?P<step>\d+) loss ([0-9.]+)`)
		for step := 10; step <= 200; step += 10 {
			loss := fmt.Sprintf("%.4f", 3-float64(step)/100)
			if step >= 80 {
				loss = map[bool]string{true: "-inf", false: "NaN"}[step == 150]
			}
			disk.write("a", cri("F", fmt.Sprintf("step %d loss %s", step, loss)))
			h.advance(interval)
		}
		require.Equal(t, 1, h.countEvents("a MetricNotFinite: loss is NaN since step 80"))
		require.Equal(t, 1, h.countEvents("a MetricNotFinite: loss is -Inf at step 150"))
		require.Zero(t, h.countEvents("LogUnmatched"))
		require.Equal(t, int64(200), h.sample("a").Step)
		require.InDelta(t, 2.3, h.sample("a").Value, 1e-9, "the last finite value")
	})
}

func TestLogs_DockersFormatIsRead(t *testing.T) {
	withLogs(t, func(t *testing.T, h *harness, disk logDisk) {
		h.arrive("a", gpushare.ProgressAnnotation+`=log:step (?P<step>\d+) loss=([0-9.]+)`)
		for step := 50; step <= 1000; step += 50 {
			disk.write("a", fmt.Sprintf(`{"log": "step %d loss=%.4f\n", "stream": "stdout", "time": "2026-11-20T09:00:10Z"}`+"\n",
				step, 2-float64(step)/1000))
			h.advance(interval)
		}
		require.Equal(t, int64(1000), h.sample("a").Step)
		require.InDelta(t, 1, h.sample("a").Value, 1e-9)
		require.Zero(t, h.countEvents("LogFormatUnknown"))
	})
}

func TestLogs_AnUnknownFormatIsReportedOnce(t *testing.T) {
	withLogs(t, func(t *testing.T, h *harness, disk logDisk) {
		h.arrive("a", gpushare.ProgressAnnotation+`=log:loss=([0-9.]+)`)
		for range 30 {
			disk.write("a", "Nov 20 20:17:09 node train[7]: loss=0.5\n")
			h.advance(interval)
		}
		require.Equal(t, 1, h.countEvents("a LogFormatUnknown: "))
		require.Equal(t, 1, h.countEvents("it looks like syslog"))
	})
}
