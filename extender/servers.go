package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/trellis-gpu/trellis/daemon"
	"github.com/trellis-gpu/trellis/daemon/credentials"
	"github.com/trellis-gpu/trellis/daemon/httpserver"
	"github.com/trellis-gpu/trellis/extender/internal/config"
)

// limited returns the configuration of a server with limits for the extender: a request can name thousands of nodes, and
// a CPU profile takes 30 s.
func limited(handler http.Handler) httpserver.Config {
	return httpserver.Config{
		Handler:        handler,
		ReadTimeout:    30 * time.Second,
		WriteTimeout:   time.Minute,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
		Drain:          15 * time.Second,
	}
}

// listen opens the port that kube-scheduler calls, with TLS if there are certificates.
func listen(c *config.Config, handler http.Handler, log *slog.Logger) (*httpserver.Server, error) {
	server := limited(handler)
	if c.TLS.Given() {
		certificates, err := credentials.Load(c.TLS, log)
		if err != nil {
			return nil, err
		}
		server.TLS = certificates.Config()
	}
	s, err := httpserver.Listen(c.Listen, server)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return s, nil
}

// serveProfiles adds the server of pprof profiles on a loopback address. An empty address means none.
func serveProfiles(group *daemon.Group, address string) error {
	if address == "" {
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	server, err := httpserver.Listen(address, limited(mux))
	if err != nil {
		return fmt.Errorf("--pprof-listen: %w", err)
	}
	group.Serve(server)
	return nil
}
