package httpserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Config configures a Server. A zero limit means the default.
type Config struct {
	// Handler answers the requests.
	Handler http.Handler
	// TLS is the configuration of HTTPS. Nil means plain HTTP.
	TLS *tls.Config
	// ReadTimeout bounds reading a request. Default 10 s.
	ReadTimeout time.Duration
	// WriteTimeout bounds answering a request. Default 15 s.
	WriteTimeout time.Duration
	// IdleTimeout bounds how long an idle connection stays open. Default 1 min.
	IdleTimeout time.Duration
	// MaxHeaderBytes bounds a request's headers. Default 16 KiB.
	MaxHeaderBytes int
	// Drain bounds how long Stop waits for requests in progress. Default 3 s.
	Drain time.Duration
	// EndStreams cancels the context of requests in progress when Stop begins. Handlers of endless streams need it.
	EndStreams bool
}

// readHeaderTimeout bounds reading a request's headers.
const readHeaderTimeout = 5 * time.Second

// Server serves one port.
type Server struct {
	listener   net.Listener
	server     *http.Server
	drain      time.Duration
	endStreams context.CancelFunc // nil without EndStreams
}

// Listen opens the port of a server. Requests wait until Run.
func Listen(address string, c Config) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &Server{listener: listener, drain: cmp.Or(c.Drain, 3*time.Second)}
	s.server = &http.Server{
		Handler:           c.Handler,
		TLSConfig:         c.TLS,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       cmp.Or(c.ReadTimeout, 10*time.Second),
		WriteTimeout:      cmp.Or(c.WriteTimeout, 15*time.Second),
		IdleTimeout:       cmp.Or(c.IdleTimeout, time.Minute),
		MaxHeaderBytes:    cmp.Or(c.MaxHeaderBytes, 16<<10),
	}
	if c.EndStreams {
		requests, cancel := context.WithCancel(context.Background())
		s.endStreams = cancel
		s.server.BaseContext = func(net.Listener) context.Context { return requests }
	}
	return s, nil
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Run serves until Stop.
func (s *Server) Run() error {
	var err error
	if s.server.TLSConfig != nil {
		err = s.server.ServeTLS(s.listener, "", "")
	} else {
		err = s.server.Serve(s.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving on %s: %w", s.Addr(), err)
}

// Stop closes the port and waits for the requests in progress.
func (s *Server) Stop() {
	if s.endStreams != nil {
		s.endStreams()
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.drain)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
	_ = s.listener.Close() // Shutdown does not close it before Run
}
