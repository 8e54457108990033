package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	maxBody    = 1 << 10 // no request needs a body
	maxHeaders = 16 << 10
	// drainTimeout bounds the time of requests during a shutdown.
	drainTimeout = 3 * time.Second
)

// Serve serves on address until ctx ends.
func Serve(ctx context.Context, address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	return ServeOn(ctx, listener, handler)
}

// ServeOn serves on a listener, which it closes, until ctx ends.
func ServeOn(ctx context.Context, listener net.Listener, handler http.Handler) error {
	requests, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	server := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeaders,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	stop() // ends watches and their requests
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(context.Cause(ctx), server.Shutdown(closing))
}
