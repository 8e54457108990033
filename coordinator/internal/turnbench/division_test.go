package turnbench

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/loop"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// division gives the turns of the GPU. It is a reference implementation of the coordinator's side of the turn sockets: equal
// weights unless weigh sets others, with deficit accounting. It decides nothing by growth.
type division struct {
	loop.Sockets
	folder string // of slots
	ctx    context.Context
	end    context.CancelFunc

	mu       sync.Mutex
	sockets  map[string]net.Listener
	jobs     map[string]*gated // by slot
	open     bool              // all compute at once
	holder   *gated
	sequence int64
}

const (
	// quantum is the length of a turn of the job with the least weight.
	quantum = 50 * time.Millisecond
	// overdue is the time after which a job that should stop loses its turn.
	overdue = 5 * time.Second
	// tick is the resolution of turns.
	tick = 10 * time.Millisecond
)

// decides reports whether turns follow the decisions of the loop.
const decides = false

// turnTimeout returns the time after which others do not wait for a holder. waitBound bounds the wait with the rest of turns.
func turnTimeout() time.Duration { return overdue }
func waitBound() time.Duration   { return overdue + 2*time.Second }

// newDivision serves a turn socket next to each socket that the loop opens.
func newDivision(m *machine, sockets *socket.Server, _ *slog.Logger, ports *loop.Ports) *division {
	d := &division{
		Sockets: sockets,
		folder:  filepath.Join(m.state, gpushare.SlotsDir),
		sockets: map[string]net.Listener{},
		jobs:    map[string]*gated{},
	}
	d.ctx, d.end = context.WithCancel(context.Background())
	ports.Sockets = d
	go d.run()
	return d
}

// run ends turns whose quantum is over.
func (d *division) run() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case at := <-ticker.C:
			d.mu.Lock()
			d.advance(at)
			d.mu.Unlock()
		}
	}
}

// Open implements loop.Sockets.
func (d *division) Open(ctx context.Context, slot string) error {
	d.mu.Lock()
	if d.sockets[slot] == nil {
		path := filepath.Join(d.folder, slot, gpushare.TurnSocketName)
		_ = os.Remove(path) // of an earlier coordinator
		listener, err := net.Listen("unix", path)
		if err != nil {
			d.mu.Unlock()
			return err
		}
		d.sockets[slot] = listener
		go d.accept(slot, listener)
	}
	d.mu.Unlock()
	return d.Sockets.Open(ctx, slot)
}

// Close implements loop.Sockets.
func (d *division) Close(slot string) {
	d.mu.Lock()
	if listener := d.sockets[slot]; listener != nil {
		_ = listener.Close()
		delete(d.sockets, slot)
	}
	d.mu.Unlock()
	d.Sockets.Close(slot)
}

func (d *division) shutdown() {
	d.end()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, listener := range d.sockets {
		_ = listener.Close()
	}
	for _, j := range d.jobs {
		for _, r := range j.ranks {
			_ = r.conn.Close()
		}
	}
}

func (d *division) accept(slot string, listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		r := &rank{conn: conn, state: wire.GateOpen}
		d.mu.Lock()
		j := d.jobs[slot]
		if j == nil {
			j = &gated{slot: slot, weight: 1, used: d.least(), margin: firstMargin}
			d.jobs[slot] = j
		}
		j.ranks = append(j.ranks, r)
		d.mu.Unlock()
		go d.read(j, r)
	}
}

func (d *division) read(j *gated, r *rank) {
	for lines := bufio.NewScanner(r.conn); lines.Scan(); {
		gate, err := wire.DecodeGate(lines.Bytes())
		if err != nil {
			continue
		}
		d.mu.Lock()
		r.state, r.step, r.answered = gate.State, gate.Step, gate.Sequence
		d.answered(j)
		d.mu.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = r.conn.Close()
	j.drop(r)
	if len(j.ranks) == 0 {
		delete(d.jobs, j.slot)
	}
	d.answered(j)
}
