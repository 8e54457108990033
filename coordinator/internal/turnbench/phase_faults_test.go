package turnbench

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/turn"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// faults measures how long a job waits at most while something else fails, and that it ends as if nothing had happened.
func faults(b *bench) {
	b.hung()
	b.killed()
	b.withoutCoordinator()
	b.flooded()
}

// pair starts two jobs in turns on a new machine. The first has a fixed length.
func (b *bench) pair(steps int) (m *machine, survivor, other *job) {
	m = b.newMachine()
	m.start(harmless)
	survivor = m.launch("survivor", "run.py", b.train("cnn", steps, 1)...)
	other = m.launch("other", "run.py", b.train("lstm", endless, 2)...)
	b.trained(survivor, other)
	m.weigh(map[*job]float64{survivor: 1, other: 1})
	time.Sleep(2 * time.Second)
	return m, survivor, other
}

// hung stops the holder with SIGSTOP, and continues it later.
func (b *bench) hung() {
	m, survivor, other := b.pair(endless)
	b.stopHolder(survivor, other)
	w := b.measure(turnTimeout() + b.span(20*time.Second, 5*time.Second))
	before := len(other.steps(b))
	other.signal(syscall.SIGCONT)
	b.figure("longest wait, the holder hangs", "s", longestWait(survivor.steps(b), w).Seconds()).atMost(waitBound().Seconds())
	again := func() bool { return len(other.steps(b)) > before+5 } // more than the step that it was in
	require.Eventually(b.t, again, turn.Default.Debt+waitBound(), time.Second, "a job that hung does not compute again")
	m.close()
}

// killed kills the holder with SIGKILL.
func (b *bench) killed() {
	m, survivor, other := b.pair(endless)
	b.untilHolds(other)
	other.kill()
	w := b.measure(5 * time.Second)
	b.figure("longest wait, the holder is killed", "s", longestWait(survivor.steps(b), w).Seconds()).atMost(waitBound().Seconds())
	m.close()
}

// stopHolder stops a job while it holds the turn: the survivor then makes no steps.
func (b *bench) stopHolder(survivor, holder *job) {
	for {
		b.untilHolds(holder)
		holder.signal(syscall.SIGSTOP)
		time.Sleep(300 * time.Millisecond)
		steps := survivor.steps(b)
		if now()-lastEnd(steps) > 250*time.Millisecond {
			return
		}
		holder.signal(syscall.SIGCONT)
		time.Sleep(50 * time.Millisecond)
	}
}

// untilHolds waits until a job computes.
func (b *bench) untilHolds(j *job) {
	for {
		time.Sleep(10 * time.Millisecond)
		if steps := j.steps(b); now()-steps[len(steps)-1].done < 20*time.Millisecond {
			return
		}
	}
}

// withoutCoordinator stops the coordinator in order while jobs wait, and starts it again. The survivor must end as an ungated
// job. A coordinator that is killed is tested on a cluster: benchmarks/e2e, TestTurns.
func (b *bench) withoutCoordinator() {
	steps := int(b.span(2000, 400))
	m, survivor, other := b.pair(steps)
	w := window{from: now()}
	m.stop()
	time.Sleep(3 * time.Second)
	m.start(harmless)
	time.Sleep(5 * time.Second)
	w.to = min(now(), lastEnd(survivor.steps(b)))
	b.figure("longest wait, the coordinator is stopped and started again", "s",
		longestWait(survivor.steps(b), w).Seconds()).atMost(waitBound().Seconds())
	survivor.wait(b)
	require.NotNil(b.t, other)
	m.close()
	b.figure("results that differ from an ungated run", "", b.differs(survivor, "run.py", b.train("cnn", steps, 1))).atMost(0)
}

func lastEnd(steps []step) time.Duration { return steps[len(steps)-1].end }

// differs runs a program without turns and returns 1 if its result is another one.
func (b *bench) differs(gated *job, program string, args []string) float64 {
	m := b.newMachine() // without a coordinator
	alone := m.launch("alone", program, args...)
	alone.wait(b)
	if result(gated) != "" && result(gated) == result(alone) {
		return 0
	}
	b.progress("    gated: %s", gated.output("finished"))
	b.progress("    alone: %s", alone.output("finished"))
	return 1
}

// result returns the part of the last line that does not depend on time: the digest of the whole state.
func result(j *job) string {
	_, state, _ := strings.Cut(j.output("finished"), "state=")
	return state
}

// flooded lets a job send lines as fast as it can.
func (b *bench) flooded() {
	m, survivor, other := b.pair(endless)
	flooder := m.launch("flooder", "idle.py")
	b.trained(flooder)
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	path := filepath.Join(m.slot("flooder"), gpushare.TurnSocketName)
	line, err := wire.Encode(wire.Gate{State: wire.GateOpen})
	require.NoError(b.t, err)
	go flood(ctx, path, []byte(strings.Repeat(string(line), 100)))
	w := b.measure(b.span(20*time.Second, 10*time.Second)) // longer than the goal
	cancel()
	longest := max(longestWait(survivor.steps(b), w), longestWait(other.steps(b), w))
	b.figure("longest wait, another job floods its socket", "s", longest.Seconds()).atMost(waitBound().Seconds())
	m.close()
}

// flood writes to a socket, and connects again whenever the connection is closed.
func flood(ctx context.Context, path string, lines []byte) {
	for ctx.Err() == nil {
		conn, err := net.Dial("unix", path)
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		for err == nil {
			_, err = conn.Write(lines)
		}
		stop()
		_ = conn.Close()
	}
}
