package turns_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/shim"
	"github.com/trellis-gpu/trellis/growth/turn"
)

const (
	// startTime bounds the time in which processes start, and turnTime that in which they take turns, on a busy machine. The latter
	// is shorter than the timeout of patient, which would hide a stop that is not answered.
	startTime, turnTime = 3 * time.Minute, 40 * time.Second
	// pollTime is the time between two looks at the metrics, which are expensive to gather.
	pollTime = 20 * time.Millisecond
)

// trainer is a process of a job with the real shim. It runs testdata/train.py.
type trainer struct {
	*exec.Cmd
	t    *testing.T
	step atomic.Int64
	done chan struct{} // closed after the last line
	lost atomic.Bool   // the numbers of its steps have a gap
}

// launch starts a process in a slot.
func (b *bench) launch(slot string) *trainer { return b.launchRank(slot, nil) }

// launchRank starts a process with these descriptors from 3 on.
func (b *bench) launchRank(slot string, files []*os.File, environment ...string) *trainer {
	b.t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		b.t.Skip("SKIPPED: turns were not tested with the shim, there is no python3 on PATH")
	}
	folder := b.t.TempDir()
	require.NoError(b.t, os.WriteFile(filepath.Join(folder, shim.FileName), shim.Source(), 0o600))
	p := &trainer{Cmd: exec.CommandContext(b.t.Context(), python, "testdata/train.py"), t: b.t, done: make(chan struct{})}
	p.Env = append(os.Environ(),
		"PYTHONPATH="+folder,
		"PYTHONDONTWRITEBYTECODE=1",
		"GPUSHARE_DIR="+filepath.Join(b.state, gpushare.SlotsDir, slot),
	)
	p.Env = append(p.Env, environment...)
	p.ExtraFiles = files
	p.Stderr = os.Stderr
	out, err := p.StdoutPipe()
	require.NoError(b.t, err)
	require.NoError(b.t, p.Start())
	go func() {
		defer close(p.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			number, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil || number != p.step.Add(1) {
				p.lost.Store(true)
			}
		}
	}()
	b.t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.done
		_ = p.Wait()
	})
	return p
}

// launchRanks starts a job with two ranks, each in its own slot.
func (b *bench) launchRanks(slots ...string) (first, second *trainer) {
	var ends []*os.File // read, write, read, write
	for range 2 {
		read, write, err := os.Pipe()
		require.NoError(b.t, err)
		ends = append(ends, read, write)
	}
	for rank, p := range []**trainer{&first, &second} {
		files := []*os.File{ends[2*rank], ends[3-2*rank]}
		*p = b.launchRank(slots[rank], files, fmt.Sprint("RANK=", rank), fmt.Sprint("LOCAL_RANK=", rank), "WORLD_SIZE=2")
	}
	for _, end := range ends {
		require.NoError(b.t, end.Close())
	}
	return first, second
}

func (p *trainer) signal(s syscall.Signal) { require.NoError(p.t, p.Process.Signal(s)) }

// started waits until all processes train.
func (b *bench) started(all ...*trainer) {
	b.t.Helper()
	for _, p := range all {
		require.Eventually(b.t, func() bool { return p.step.Load() > 0 }, startTime, pollTime)
	}
}

// goesOn waits for further steps.
func (p *trainer) goesOn() {
	p.t.Helper()
	steps := p.step.Load()
	require.Eventually(p.t, func() bool { return p.step.Load() > steps+10 }, turnTime, time.Millisecond)
}

// end ends the process, which must not have lost a step.
func (p *trainer) end() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	p.ended()
}

// ended waits for the end of the process.
func (p *trainer) ended() {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		require.FailNow(p.t, "the process does not end")
	}
	require.NoError(p.t, p.Wait())
	require.False(p.t, p.lost.Load(), "a step was lost")
}

// untilState waits until a job has a state.
func (b *bench) untilState(job growth.PodUID, state turn.State) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		for _, status := range b.Order(job) {
			if status.Job == job && status.State == state {
				return true
			}
		}
		return false
	}, patience, time.Millisecond, state.String())
}

// untilSwitches waits until the turn has passed several times between two jobs.
func (b *bench) untilSwitches() {
	b.t.Helper()
	before, _ := b.gaps()
	require.Eventually(b.t, func() bool { now, _ := b.gaps(); return now >= before+4 }, turnTime, pollTime)
}
