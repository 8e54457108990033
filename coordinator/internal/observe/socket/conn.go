package socket

import (
	"bufio"
	"context"
	"errors"
	"time"

	"github.com/trellis-gpu/trellis/growth/wire"
)

// Event is one of the four below.
type Event interface{ event() }

type (
	// Connected says that a job has opened a connection.
	Connected struct{}
	// Received is one message from a job.
	Received struct{ Message wire.Message }
	// Delivered says that the job's side has taken a config of this generation off our hands.
	Delivered struct{ Generation int64 }
	// Faults counts what was wrong with a connection's lines since the last Faults.
	Faults struct {
		// Malformed lines are no messages, Unknown ones of a type that we do not know, Dropped ones above the rate.
		Malformed, Unknown, Dropped int
		// Last is why the last malformed line was refused.
		Last error
		// Closed says that the connection had to be closed for them.
		Closed bool
	}
)

func (Connected) event() {}
func (Received) event()  {}
func (Delivered) event() {}
func (Faults) event()    {}

var errDirection = errors.New("a message that only the coordinator sends")

// faultsEvery is how often a connection's faults are told, so that a flood of them is none of reports.
const faultsEvery = time.Second

type conn struct {
	*stream
	server   *Server
	slot     string
	listener *listener
	configs  newest[wire.Config]
	duties   newest[wire.Duty]

	faults Faults
	bad    int
	told   time.Time
}

// newest is a channel of one value. A newer value replaces one that was not received yet.
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
	if err := c.WriteBefore(ctx, time.Now().Add(c.server.limits.Write), line); err != nil {
		c.server.log.Info("a job does not read its socket: connection closed", "slot", c.slot, "err", err)
		_ = c.Close()
		return false
	}
	return true
}

func (c *conn) read(ctx context.Context) {
	hangUp := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer func() {
		hangUp()
		c.listener.remove(c) // nobody offers after this
		close(c.configs)
		close(c.duties)
		_ = c.Close()
		c.tell(true)
	}()
	c.server.handle(c.slot, Connected{})
	looks := &looks{stream: c.stream, ctx: ctx, every: c.server.limits.Rest, since: c.server.began}
	lines := bufio.NewReaderSize(looks, wire.MaxLine)
	tooLong := false
	for {
		piece, err := lines.ReadSlice('\n')
		if c.listener.bytes.WaitN(ctx, len(piece)) != nil {
			return
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if !tooLong {
				c.malformed(bufio.ErrTooLong)
			}
			tooLong = true
		case err != nil:
			return // gone, perhaps in the middle of a line: half a line is no message
		case tooLong:
			tooLong = false // the end of the long one
		default:
			c.line(piece)
		}
		if c.bad > c.server.limits.BadLines {
			c.faults.Closed = true
			return
		}
		c.tell(false)
	}
}

func (c *conn) line(line []byte) {
	if !c.listener.lines.Allow() {
		c.faults.Dropped++
		return
	}
	message, err := wire.Decode(line)
	switch {
	case errors.Is(err, wire.ErrUnknownType):
		c.faults.Unknown++
	case err != nil:
		c.malformed(err)
	default:
		switch message.(type) {
		case wire.Config, wire.Duty, wire.Save:
			c.malformed(errDirection)
		default:
			c.server.handle(c.slot, Received{Message: message})
		}
	}
}

func (c *conn) malformed(why error) {
	c.bad++
	c.faults.Malformed++
	c.faults.Last = why
}

func (c *conn) tell(last bool) {
	if c.faults == (Faults{}) || (!last && time.Since(c.told) < faultsEvery) {
		return
	}
	c.server.handle(c.slot, c.faults)
	c.faults, c.told = Faults{}, time.Now()
}
