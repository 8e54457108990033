package loaderbench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const nodeName growth.NodeName = "node"

// realJob is a process of testdata/job.py.
type realJob struct {
	name string
	// batch and step say how fast the job is if loading takes no time.
	batch int
	step  time.Duration
	args  []string
}

// fullSpeed returns the samples per second without loading.
func (j realJob) fullSpeed() float64 { return float64(j.batch) / j.step.Seconds() }

// report is a progress report with the time at which it came.
type report struct {
	at time.Time
	wire.Progress
}

// agent is the part of the coordinator between the socket of one job and the bus.
type agent struct {
	realJob
	b   *bench
	cmd *exec.Cmd

	mu      sync.Mutex
	conn    net.Conn
	sent    int64
	applied int64
	loaders int
	last    wire.Progress
	reports []report // since the last sample or measurement began
}

// launch starts a job and serves its socket.
func (b *bench) launch(j realJob, loaders int) *agent {
	folder := filepath.Join(b.t.TempDir(), j.name)
	require.NoError(b.t, os.MkdirAll(folder, 0o755))
	listener, err := net.Listen("unix", filepath.Join(folder, gpushare.SocketName))
	require.NoError(b.t, err)
	a := &agent{realJob: j, b: b, loaders: loaders}
	args := append([]string{filepath.Join("testdata", "job.py"), "--batch", fmt.Sprint(j.batch), "--step", fmt.Sprint(j.step.Seconds()),
		"--loaders", fmt.Sprint(loaders)}, j.args...)
	a.cmd = exec.Command(*pythonArg, args...)
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	a.cmd.Env = append(os.Environ(), "GPUSHARE_DIR="+folder, "PYTHONPATH="+b.shim, "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1")
	a.cmd.Stderr = os.Stderr
	_, err = a.cmd.StdinPipe() // it ends with this process
	require.NoError(b.t, err)
	require.NoError(b.t, a.cmd.Start())
	b.t.Cleanup(a.kill)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go a.serve(conn)
		}
	}()
	b.t.Cleanup(func() { _ = listener.Close() })
	return a
}

func (a *agent) kill() {
	if a.cmd.ProcessState == nil {
		_ = syscall.Kill(-a.cmd.Process.Pid, syscall.SIGKILL)
		_ = a.cmd.Wait()
	}
}

// serve reads a connection. Workers of the DataLoader do not connect.
func (a *agent) serve(conn net.Conn) {
	a.mu.Lock()
	a.conn = conn
	a.mu.Unlock()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		message, err := wire.Decode(lines.Bytes())
		if err != nil {
			continue
		}
		a.mu.Lock()
		switch m := message.(type) {
		case wire.Progress:
			a.last = m
			a.reports = append(a.reports, report{time.Now(), m})
		case wire.Ack:
			a.applied = m.Generation
			a.reports = nil // those were before the rebuild
		}
		a.mu.Unlock()
	}
}

// use sends a config.
func (a *agent) use(loaders int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.loaders == loaders && a.applied == a.sent {
		return
	}
	a.loaders = loaders
	a.send()
}

// send sends the newest config, with a generation of its own.
func (a *agent) send() {
	a.sent++
	line, err := wire.Encode(wire.Config{Generation: a.sent, Values: wire.Values{Loaders: new(a.loaders)}})
	require.NoError(a.b.t, err)
	_, _ = a.conn.Write(line) // a lost connection is replaced, and await sends again
}

// resend sends the newest config again if it was not acknowledged.
func (a *agent) resend() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn != nil && a.applied != a.sent {
		a.send()
	}
}

// settled reports whether the job runs with the newest config, and has made two steps with it.
func (a *agent) settled() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.conn != nil && a.applied == a.sent && len(a.reports) > 1
}

// take returns the reports so far and begins again.
func (a *agent) take() []report {
	a.mu.Lock()
	defer a.mu.Unlock()
	reports := a.reports
	a.reports = nil
	return reports
}

// rate returns samples per second between the first and the last of some reports.
func rate(reports []report) float64 {
	if len(reports) < 2 {
		return 0
	}
	samples := int64(0)
	for _, r := range reports[1:] {
		samples += r.Samples
	}
	return float64(samples) / reports[len(reports)-1].at.Sub(reports[0].at).Seconds()
}

func (a *agent) uid() growth.PodUID { return growth.PodUID(a.name) }

// publish puts the sample of an interval on the bus, as a coordinator does.
func (a *agent) publish(put func(key string, value []byte)) {
	reports := a.take()
	a.mu.Lock()
	s := bus.Sample{
		Pod:        growth.PodRef{Namespace: "bench", Name: a.name, UID: a.uid()},
		Node:       nodeName,
		GPUs:       []growth.GPU{growth.GPU("GPU-" + a.name)},
		Step:       a.last.Step,
		Loaders:    a.last.Loaders,
		BatchSize:  a.last.BatchSize,
		Tunable:    []string{string(gpushare.TuneLoaders)},
		Generation: a.sent,
		Applied:    a.applied,
	}
	a.mu.Unlock()
	steps := 0.0
	for _, r := range reports {
		n := float64(r.Steps)
		steps += n
		s.StepSeconds += growth.Seconds(n) * r.StepSeconds
		s.LoadSeconds += growth.Seconds(n) * r.LoadSeconds
	}
	if steps > 0 {
		s.StepSeconds /= growth.Seconds(steps)
		s.LoadSeconds /= growth.Seconds(steps)
	}
	value, err := bus.Encode(s)
	require.NoError(a.b.t, err)
	put(bus.SampleKey(a.uid()), value)
}

// follow applies the newest advice.
func (a *agent) follow(ctx context.Context, list func(context.Context, string) ([]bus.Entry, bus.Revision, error)) {
	entries, _, err := list(ctx, bus.AdviceKey(a.uid()))
	require.NoError(a.b.t, err)
	for _, e := range entries {
		advice, err := bus.Decode[bus.Advice](e.Value)
		require.NoError(a.b.t, err)
		if advice.Loaders != nil {
			a.use(*advice.Loaders)
		}
	}
}
