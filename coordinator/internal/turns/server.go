package turns

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"sync"

	"golang.org/x/time/rate"

	"github.com/trellis-gpu/trellis/coordinator/internal/slotsocket"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// maxConnections bounds the connections of a slot, one for each process. One more closes the oldest.
const maxConnections = 64

// Server holds the turn sockets of one node, and gives turns by the newest plan.
type Server struct {
	slots   string // folder of slots
	private string // folder where sockets are created
	config  turn.Config
	log     *slog.Logger
	metrics *Metrics
	freezer Freezer // nil: no job is frozen
	wg      sync.WaitGroup

	mu     sync.Mutex
	open   map[string]*listener
	nextID int64
	groups []*group
	jobs   map[growth.PodUID]*job
	bySlot map[string]*job

	handovers map[growth.GPU]*handover
}

// listener is the socket of one slot.
type listener struct {
	*slotsocket.Listener
	stop  context.CancelFunc
	lines *rate.Limiter
	conns []*conn // oldest first
}

// New returns a server for the slots below stateDir. private is a folder that no job can access.
func New(stateDir, private string, config turn.Config, log *slog.Logger, metrics *Metrics) *Server {
	return &Server{
		slots:   filepath.Join(stateDir, gpushare.SlotsDir),
		private: private,
		config:  config,
		log:     log,
		metrics: metrics,
		open:    map[string]*listener{},
		jobs:    map[growth.PodUID]*job{},
		bySlot:  map[string]*job{},

		handovers: map[growth.GPU]*handover{},
	}
}

// FreezeBy lets jobs be frozen between their turns that the plan names. It must be called before Plan.
func (s *Server) FreezeBy(f Freezer) { s.freezer = f }

// Open listens on the turn socket of a slot. It is idempotent, and creates a socket again whose file was removed.
func (s *Server) Open(ctx context.Context, slot string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.open[slot]; l != nil {
		if l.InPlace() {
			return nil
		}
		s.end(slot, l)
	}
	sock, err := slotsocket.Listen(s.private, s.slots, slot, gpushare.TurnSocketName)
	if err != nil {
		return err
	}
	l := &listener{Listener: sock, lines: rate.NewLimiter(lineRate, lineRate)}
	ctx, l.stop = context.WithCancel(ctx)
	s.open[slot] = l
	s.wg.Go(func() {
		l.Serve(ctx, maxConnections, s.log, func(accepted *net.UnixConn) error {
			c := s.add(slot, l, accepted)
			s.wg.Go(func() { s.read(ctx, c) })
			return nil
		})
	})
	return nil
}

// Close closes the socket of a slot and its connections, and removes the file.
func (s *Server) Close(slot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.open[slot]; l != nil {
		s.end(slot, l)
		l.Remove()
	}
}

// Shutdown closes all sockets, thaws all jobs, and waits for that. All jobs then compute.
func (s *Server) Shutdown() {
	s.mu.Lock()
	for slot, l := range s.open {
		s.end(slot, l)
	}
	for _, g := range s.groups {
		g.stop()
	}
	for _, j := range s.jobs {
		j.setFrozen(false)
	}
	s.groups, s.jobs = nil, nil
	s.mu.Unlock()
	s.wg.Wait()
}

// end closes a socket and its connections. The caller must hold s.mu.
func (s *Server) end(slot string, l *listener) {
	l.stop()
	_ = l.Close()
	for _, c := range l.conns {
		c.gone = true
		_ = c.Close() // its reader then returns and calls leave
	}
	delete(s.open, slot)
}

// add adds a connection, and closes the oldest one if there are too many.
func (s *Server) add(slot string, l *listener, accepted *net.UnixConn) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextID++
	c := &conn{UnixConn: accepted, id: s.nextID, slot: slot, listener: l}
	if len(l.conns) >= maxConnections {
		l.conns[0].gone = true
		_ = l.conns[0].Close()
		l.conns = l.conns[1:]
	}
	l.conns = append(l.conns, c)
	return c
}
