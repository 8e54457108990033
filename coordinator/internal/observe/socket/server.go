package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Limits bound what one slot may cost us.
type Limits struct {
	// Lines and Bytes are per second; twice as many lines may come at once.
	Lines, Bytes int
	// BadLines is how many malformed lines a connection may send before it is closed.
	BadLines int
	// Connections is how many a slot may hold; one more closes the oldest.
	Connections int
	// Rest is how long lines may gather before they are read; more than 0.
	Rest time.Duration
	// Write is how long a job may take to read a line of ours.
	Write time.Duration
}

// DefaultLimits are ten times what the shim sends.
var DefaultLimits = Limits{Lines: 200, Bytes: 1 << 20, BadLines: 100, Connections: 4, Rest: 500 * time.Millisecond, Write: time.Second}

// accepts is how many connections a second a slot may open.
const accepts = 10

// Server holds the sockets of one node.
type Server struct {
	slots   string // folder of slots
	private string // folder where sockets are made
	handle  func(slot string, e Event)
	limits  Limits
	log     *slog.Logger
	// began is when connections were first looked at.
	began time.Time

	mu   sync.Mutex
	open map[string]*listener
	made int
	wg   sync.WaitGroup
}

// listener is one slot's socket.
type listener struct {
	*net.UnixListener
	path  string
	file  os.FileInfo
	lines *rate.Limiter
	bytes *rate.Limiter
	stop  context.CancelFunc

	mu     sync.Mutex
	conns  []*conn
	config *wire.Config
	duty   *wire.Duty
}

// New returns a server for the slots below stateDir. What jobs do comes to handle, from many goroutines at once; a
// handle that blocks holds up the slot it is called for.
func New(stateDir string, limits Limits, log *slog.Logger, handle func(slot string, e Event)) (*Server, error) {
	s := &Server{
		slots: filepath.Join(stateDir, gpushare.SlotsDir), private: filepath.Join(stateDir, "coordinator"),
		handle: handle, limits: limits, log: log, began: time.Now(), open: map[string]*listener{},
	}
	if err := os.MkdirAll(s.private, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder where sockets are made: %w", err)
	}
	return s, nil
}

// Private is the folder that no job sees.
func (s *Server) Private() string { return s.private }

// Open listens on a slot's socket. It is called again for every slot that should be open: one that is there is left
// alone, one that somebody removed is made anew.
func (s *Server) Open(ctx context.Context, slot string) error {
	if slot == "" || slot == "." || slot == ".." || strings.ContainsRune(slot, filepath.Separator) || strings.ContainsRune(slot, 0) {
		return fmt.Errorf("slot %.80q is no name of a folder", slot)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.open[slot]; l != nil {
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.file) {
			return nil
		}
		l.shut()
		delete(s.open, slot)
	}
	l, err := s.listen(slot)
	if err != nil {
		return err
	}
	ctx, l.stop = context.WithCancel(ctx)
	s.open[slot] = l
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		s.accept(ctx, slot, l)
	}()
	return nil
}

func (s *Server) listen(slot string) (*listener, error) {
	s.made++
	made := filepath.Join(s.private, fmt.Sprintf("%d.sock", s.made))
	if err := os.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing a stale socket: %w", err)
	}
	sock, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening for slot %s: %w", slot, err)
	}
	sock.SetUnlinkOnClose(false)
	path := filepath.Join(s.slots, slot, gpushare.SocketName)
	file, err := place(made, path)
	if err != nil {
		_ = sock.Close()
		_ = os.Remove(made)
		return nil, fmt.Errorf("putting the socket into slot %s: %w", slot, err)
	}
	return &listener{
		UnixListener: sock, path: path, file: file,
		lines: rate.NewLimiter(rate.Limit(s.limits.Lines), 2*s.limits.Lines),
		bytes: rate.NewLimiter(rate.Limit(s.limits.Bytes), max(s.limits.Bytes, wire.MaxLine)),
	}, nil
}

// place opens the socket to every user, jobs run as any, and moves it over whatever an earlier life left there.
func place(made, path string) (os.FileInfo, error) {
	if err := os.Chmod(made, 0o666); err != nil {
		return nil, err
	}
	if err := os.Rename(made, path); err != nil {
		return nil, err
	}
	return os.Lstat(path)
}

// Send sends a config to the connections of a slot, present and future ones. It replaces the config before.
func (s *Server) Send(slot string, config wire.Config) error {
	return s.update(slot, func(l *listener) {
		l.config = &config
		for _, c := range l.conns {
			c.configs.offer(config)
		}
	})
}

// SendDuty sends a duty to the connections of a slot, present and future ones. It replaces the duty before.
func (s *Server) SendDuty(slot string, duty wire.Duty) error {
	return s.update(slot, func(l *listener) {
		l.duty = &duty
		for _, c := range l.conns {
			c.duties.offer(duty)
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

// Close shuts a slot's socket and its connections.
func (s *Server) Close(slot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.open[slot]; l != nil {
		l.shut()
		_ = os.Remove(l.path)
		delete(s.open, slot)
	}
}

// Shutdown closes everything and waits. The sockets' files stay: jobs find the next coordinator in their place.
func (s *Server) Shutdown() {
	s.mu.Lock()
	for _, l := range s.open {
		l.shut()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (l *listener) shut() {
	l.stop()
	_ = l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
}

func (s *Server) accept(ctx context.Context, slot string, l *listener) {
	pace := rate.NewLimiter(accepts, 2*accepts)
	for pace.Wait(ctx) == nil {
		accepted, err := l.next()
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
				s.log.Warn("accepting a job's connection", "slot", slot, "err", err)
				continue
			}
			return
		}
		c := &conn{stream: accepted, server: s, slot: slot, listener: l, configs: make(newest[wire.Config], 1), duties: make(newest[wire.Duty], 1)}
		l.add(c, s.limits.Connections)
		s.wg.Add(2)
		go func() { defer s.wg.Done(); c.write(ctx) }()
		go func() { defer s.wg.Done(); c.read(ctx) }()
	}
}

func (l *listener) next() (*stream, error) {
	accepted, err := l.AcceptUnix()
	if err != nil {
		return nil, err
	}
	return unwatched(accepted)
}

func (l *listener) add(c *conn, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.conns) >= most {
		_ = l.conns[0].Close() // its reader notices and takes it off the list
		l.conns = l.conns[1:]
	}
	l.conns = append(l.conns, c)
	if l.config != nil {
		c.configs.offer(*l.config)
	}
	if l.duty != nil {
		c.duties.offer(*l.duty)
	}
}

func (l *listener) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, other := range l.conns {
		if other == c {
			l.conns = append(l.conns[:i:i], l.conns[i+1:]...)
			return
		}
	}
}
