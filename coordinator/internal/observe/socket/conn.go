package socket

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/growth/wire"
)

type conn struct {
	*stream
	server   *Server
	slot     string
	id       int64
	listener *listener
	configs  newest[wire.Config]
	duties   newest[wire.Duty]
	stops    newest[wire.Stop]
	saves    newest[wire.Save]
	drains   chan chan<- struct{}
	ended    chan struct{} // closed when nothing more is read, and all of it is handled

	decoder wire.Decoder
	reports []wire.Progress // not passed on yet
	batch   int             // number of reports passed on last time

	faults   Faults // since reported
	bad      int    // malformed lines so far
	reported time.Time

	// The rank that the process names, since when, and the numbers of its first report with this rank and of its last
	// report. They are guarded by listener.mu.
	rank        int
	named       time.Time
	first, last int64
}

// newest is a channel with a buffer of one value. A newer value replaces one that was not received yet.
type newest[T any] chan T

func (n newest[T]) offer(value T) {
	for {
		select {
		case n <- value:
			return
		default:
		}
		select {
		case <-n:
		default:
		}
	}
}

func (c *conn) write(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case config, ok := <-c.configs:
			if !ok || !c.send(ctx, config) {
				return
			}
			c.server.handle(c.slot, Delivered{Generation: config.Generation})
		case duty, ok := <-c.duties:
			if !ok || !c.send(ctx, duty) {
				return
			}
		case stop, ok := <-c.stops:
			if !ok || !c.send(ctx, stop) {
				return
			}
		case save, ok := <-c.saves:
			if !ok || !c.send(ctx, save) {
				return
			}
		}
	}
}

// send writes a message. It returns false if the connection had to be closed.
func (c *conn) send(ctx context.Context, message wire.Message) bool {
	line, err := wire.Encode(message)
	if err != nil {
		c.server.log.Error("a message cannot be encoded", "slot", c.slot, "err", err)
		return true
	}
	if err := c.WriteBefore(ctx, time.Now().Add(c.server.limits.WriteTimeout), line); err != nil {
		c.server.log.Info("a job does not read its socket: connection closed", "slot", c.slot, "err", err)
		_ = c.Close()
		return false
	}
	return true
}
