package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/oklog/run"

	"github.com/trellis-gpu/trellis/daemon/credentials"
	"github.com/trellis-gpu/trellis/extender/internal/config"
)

// drain bounds how long a shutdown waits for answers that are being written.
const drain = 15 * time.Second

// answer adds the server that the scheduler asks, with TLS where there are credentials.
func answer(parts *run.Group, s config.Config, handler http.Handler, log *slog.Logger) error {
	if !s.TLS.Given() {
		return listen(parts, s.Listen, nil, handler)
	}
	keeper, err := credentials.Load(s.TLS, log)
	if err != nil {
		return err
	}
	return listen(parts, s.Listen, keeper.Config(), handler)
}

// listen adds an HTTP server that drains when it is interrupted. Without secure it is a plain one.
func listen(parts *run.Group, address string, secure *tls.Config, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	server := &http.Server{
		Handler: handler, TLSConfig: secure, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	parts.Add(func() error {
		var err error
		if secure != nil {
			err = server.ServeTLS(listener, "", "")
		} else {
			err = server.Serve(listener)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, func(error) {
		ctx, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		_ = server.Shutdown(ctx)
	})
	return nil
}

// profiles serves pprof, on a listener of its own that is for this machine alone.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
