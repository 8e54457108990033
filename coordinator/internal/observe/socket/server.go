package socket

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/trellis-gpu/trellis/coordinator/internal/slotsocket"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Limits bound the resources that the jobs of one slot can use.
type Limits struct {
	// Lines and Bytes are per second for a slot with one connection. The burst of lines is twice as many. A slot with n
	// connections may send n times as much, up to maxScale times.
	Lines, Bytes int
	// BadLines is the number of malformed lines after which a connection is closed.
	BadLines int
	// Connections is the number of connections per slot, one for each process of a job, all of which may be opened at
	// once. One more closes the oldest.
	Connections int
	// PollPeriod is the time between two reads of a connection, more than 0.
	PollPeriod time.Duration
	// WriteTimeout bounds the time to write one line to a job.
	WriteTimeout time.Duration
}

// DefaultLimits allow ten times the rate at which the shim sends.
var DefaultLimits = Limits{
	Lines:        200,
	Bytes:        1 << 20,
	BadLines:     100,
	Connections:  64,
	PollPeriod:   time.Second,
	WriteTimeout: time.Second,
}

// maxScale bounds the rates of a slot with many connections. It is enough for 64 processes at twice the rate of the shim.
const maxScale = 8

// Server holds the sockets of one node.
type Server struct {
	slots   string // folder of slots
	private string // folder where sockets are created
	handle  func(slot string, e Event)
	limits  Limits
	log     *slog.Logger
	// start is the time of the first poll.
	start time.Time

	mu   sync.Mutex
	open map[string]*listener
	wg   sync.WaitGroup

	accepted atomic.Int64 // number of connections so far
}

// listener is the socket of one slot.
type listener struct {
	*slotsocket.Listener
	lines *rate.Limiter
	bytes *rate.Limiter
	stop  context.CancelFunc

	limits Limits

	mu      sync.Mutex
	conns   []*conn
	reports int64 // number of reports so far
	config  *wire.Config
	duty    *wire.Duty
	order   *wire.Stop
}

// New returns a server for the slots below stateDir. handle receives the events, concurrently. A call that blocks
// delays only its own slot.
func New(stateDir string, limits Limits, log *slog.Logger, handle func(slot string, e Event)) (*Server, error) {
	s := &Server{
		slots:   filepath.Join(stateDir, gpushare.SlotsDir),
		private: filepath.Join(stateDir, "coordinator"),
		handle:  handle,
		limits:  limits,
		log:     log,
		start:   time.Now(),
		open:    map[string]*listener{},
	}
	if err := os.MkdirAll(s.private, 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder for new sockets: %w", err)
	}
	return s, nil
}

// Private returns the coordinator's own folder, which no job can access.
func (s *Server) Private() string { return s.private }

// Open listens on the socket of a slot. It is idempotent: an open socket does not change, and a socket whose file
// was removed is created again.
func (s *Server) Open(ctx context.Context, slot string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.open[slot]; l != nil {
		if l.InPlace() {
			return nil
		}
		l.close()
		delete(s.open, slot)
	}
	l, err := s.listen(slot)
	if err != nil {
		return err
	}
	ctx, l.stop = context.WithCancel(ctx)
	s.open[slot] = l
	s.wg.Go(func() {
		l.Serve(ctx, s.limits.Connections, s.log, func(c *net.UnixConn) error { return s.serve(ctx, slot, l, c) })
	})
	return nil
}

func (s *Server) listen(slot string) (*listener, error) {
	sock, err := slotsocket.Listen(s.private, s.slots, slot, gpushare.SocketName)
	if err != nil {
		return nil, err
	}
	return &listener{
		Listener: sock,
		limits:   s.limits,
		lines:    rate.NewLimiter(rate.Limit(s.limits.Lines), 2*s.limits.Lines),
		bytes:    rate.NewLimiter(rate.Limit(s.limits.Bytes), max(s.limits.Bytes, wire.MaxLine)),
	}, nil
}

// Send sends a config to the current and future connections of a slot. It replaces the previous config.
func (s *Server) Send(slot string, config wire.Config) error {
	return s.update(slot, func(l *listener) {
		l.config = &config
		for _, c := range l.conns {
			c.configs.offer(config)
		}
	})
}

// SendDuty sends a duty to the current and future connections of a slot. It replaces the previous duty.
func (s *Server) SendDuty(slot string, duty wire.Duty) error {
	return s.update(slot, func(l *listener) {
		l.duty = &duty
		for _, c := range l.conns {
			c.duties.offer(duty)
		}
	})
}

// SendStop sends a stop to the current and future connections of a slot. It replaces the previous stop.
func (s *Server) SendStop(slot string, stop wire.Stop) error {
	return s.update(slot, func(l *listener) {
		l.order = &stop
		for _, c := range l.conns {
			c.stops.offer(stop)
		}
	})
}

// SendSave sends a request to save to the current connections of a slot.
func (s *Server) SendSave(slot string, save wire.Save) error {
	return s.update(slot, func(l *listener) {
		for _, c := range l.conns {
			c.saves.offer(save)
		}
	})
}

func (s *Server) update(slot string, change func(l *listener)) error {
	s.mu.Lock()
	l := s.open[slot]
	s.mu.Unlock()
	if l == nil {
		return fmt.Errorf("slot %s is not open", slot)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
	return nil
}

// Close closes the socket of a slot and its connections, and removes the file.
func (s *Server) Close(slot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.open[slot]; l != nil {
		l.close()
		l.Remove()
		delete(s.open, slot)
	}
}

// Shutdown closes all sockets and waits for their goroutines. The files stay until the next coordinator replaces them.
func (s *Server) Shutdown() {
	s.mu.Lock()
	for _, l := range s.open {
		l.close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// close closes the socket and its connections.
func (l *listener) close() {
	l.stop()
	_ = l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
}

// serve starts a connection. It takes it out of the runtime's poller.
func (s *Server) serve(ctx context.Context, slot string, l *listener, accepted *net.UnixConn) error {
	stream, err := detach(accepted)
	if err != nil {
		return err
	}
	c := &conn{
		stream:   stream,
		server:   s,
		slot:     slot,
		id:       s.accepted.Add(1),
		rank:     unnamed,
		listener: l,
		configs:  make(newest[wire.Config], 1),
		duties:   make(newest[wire.Duty], 1),
		stops:    make(newest[wire.Stop], 1),
		saves:    make(newest[wire.Save], 1),
		drains:   make(chan chan<- struct{}),
		ended:    make(chan struct{}),
	}
	l.add(c)
	s.wg.Go(func() { c.write(ctx) })
	s.wg.Go(func() { c.read(ctx) })
	return nil
}

// add adds a connection, and closes the oldest one if there are too many.
func (l *listener) add(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.conns) >= l.limits.Connections {
		_ = l.conns[0].Close() // its reader then returns and calls remove
		l.conns = l.conns[1:]
	}
	l.conns = append(l.conns, c)
	l.scale()
	if l.config != nil {
		c.configs.offer(*l.config)
	}
	if l.duty != nil {
		c.duties.offer(*l.duty)
	}
	if l.order != nil {
		c.stops.offer(*l.order)
	}
}

func (l *listener) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, other := range l.conns {
		if other == c {
			l.conns = append(l.conns[:i:i], l.conns[i+1:]...)
			l.scale()
			return
		}
	}
}
