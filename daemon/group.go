package daemon

import (
	"context"
	"fmt"

	"github.com/oklog/run"

	"github.com/trellis-gpu/trellis/daemon/httpserver"
	"github.com/trellis-gpu/trellis/daemon/probes"
)

// Group runs the parts of a process together.
//
// All parts stop when the context ends or when the first part returns. Readiness fails first. Then the parts stop one
// after another, in the order in which they were added. The server of the probes stops last.
type Group struct {
	probes *probes.Probes
	server *httpserver.Server
	parts  []part
}

// part is one part of a process. stop makes run return.
type part struct {
	run  func() error
	stop func()
}

// NewGroup returns a group without parts. It listens on the address of the probes.
func NewGroup(p *probes.Probes, address string) (*Group, error) {
	server, err := httpserver.Listen(address, httpserver.Config{Handler: p.Handler()})
	if err != nil {
		return nil, fmt.Errorf("--health-listen: %w", err)
	}
	return &Group{probes: p, server: server}, nil
}

// Add adds parts that run until their context ends.
func (g *Group) Add(parts ...func(context.Context) error) {
	for _, run := range parts {
		ctx, cancel := context.WithCancel(context.Background())
		g.parts = append(g.parts, part{
			run:  func() error { return run(ctx) },
			stop: cancel,
		})
	}
}

// Serve adds a server. Its stop waits for requests in progress.
func (g *Group) Serve(s *httpserver.Server) {
	g.parts = append(g.parts, part{run: s.Run, stop: s.Stop})
}

// Run runs all parts and returns the error of the first part that returned, or nil after the end of ctx.
func (g *Group) Run(ctx context.Context) error {
	var group run.Group
	add := func(p part) { group.Add(p.run, func(error) { p.stop() }) }

	untilStop, stop := context.WithCancel(ctx)
	add(part{
		run: func() error { <-untilStop.Done(); return nil },
		stop: func() {
			g.probes.Stop()
			stop()
		},
	})
	for _, p := range g.parts {
		add(p)
	}
	add(part{run: g.server.Run, stop: g.server.Stop})
	return group.Run()
}
