package socket

import (
	"bufio"
	"context"
	"errors"
	"time"

	"github.com/trellis-gpu/trellis/growth/wire"
)

// Event is a Connected, Reported, Received, Disconnected, Delivered or Faults.
type Event interface{ event() }

type (
	// Connected means that a job has opened a connection.
	Connected struct{}
	// Reported has the reports of a job that were read at once, oldest first. Connection identifies the connection, and
	// so the process.
	Reported struct {
		Connection int64
		Reports    []wire.Progress
	}
	// Received is another message from a job.
	Received struct {
		Connection int64
		Message    wire.Message
	}
	// Disconnected means that a connection has ended. It is the last event of the connection, except for Faults.
	Disconnected struct{ Connection int64 }
	// Delivered means that a config of this generation was written to a connection.
	Delivered struct{ Generation int64 }
	// Faults counts the rejected lines of a connection since the previous Faults.
	Faults struct {
		// Malformed counts lines that are not messages, Unknown messages of an unknown type, Dropped lines above the
		// rate.
		Malformed, Unknown, Dropped int
		// Last is the error of the last malformed line.
		Last error
		// Closed means that the connection was closed because of too many malformed lines.
		Closed bool
	}
)

func (Connected) event()    {}
func (Reported) event()     {}
func (Received) event()     {}
func (Disconnected) event() {}
func (Delivered) event()    {}
func (Faults) event()       {}

var errDirection = errors.New("a message that only the coordinator sends")

// faultsPeriod is the minimum time between two Faults of a connection, so that a flood of lines causes few events.
const faultsPeriod = time.Second

// maxBatch bounds the reports of one Reported.
const maxBatch = 64

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

func (c *conn) read(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer func() {
		stop()
		c.passReports()
		close(c.ended)
		c.listener.remove(c) // no values are offered after this
		close(c.configs)
		close(c.duties)
		close(c.stops)
		close(c.saves)
		_ = c.Close()
		c.server.handle(c.slot, Disconnected{Connection: c.id})
		c.reportFaults(true)
	}()
	c.server.handle(c.slot, Connected{})
	poller := &poller{
		stream: c.stream,
		ctx:    ctx,
		period: c.server.limits.PollPeriod,
		start:  c.server.start,
		before: c.passReports,
		drains: c.drains,
	}
	lines := bufio.NewReaderSize(poller, wire.MaxLine)
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
			return // closed; an incomplete last line is not a message
		case tooLong:
			tooLong = false // the end of the long line
		default:
			c.line(piece)
		}
		if c.bad > c.server.limits.BadLines {
			c.faults.Closed = true
			return
		}
		c.reportFaults(false)
	}
}

// line decodes one line.
func (c *conn) line(line []byte) {
	if !c.listener.lines.Allow() {
		c.faults.Dropped++
		return
	}
	if c.report(line) {
		return
	}
	message, err := wire.Decode(line)
	switch {
	case errors.Is(err, wire.ErrUnknownType):
		c.faults.Unknown++
	case err != nil:
		c.malformed(err)
	default:
		c.message(message)
	}
}

// report adds a line to the reports if it is one in its usual form.
func (c *conn) report(line []byte) bool {
	if c.reports == nil {
		c.reports = make([]wire.Progress, 0, max(c.batch, 1))
	}
	n := len(c.reports)
	c.reports = append(c.reports, wire.Progress{})
	if !c.decoder.Report(line, &c.reports[n]) {
		c.reports = c.reports[:n]
		return false
	}
	if n+1 == maxBatch {
		c.passReports()
	}
	return true
}

func (c *conn) message(message wire.Message) {
	switch message := message.(type) {
	case wire.Config, wire.Duty, wire.Save, wire.Stop:
		c.malformed(errDirection)
	case wire.Progress:
		c.reports = append(c.reports, message)
	default:
		c.passReports() // messages keep their order
		c.server.handle(c.slot, Received{Connection: c.id, Message: message})
	}
}

// passReports passes the reports on that were read together. One event for all of them costs much less than one each.
func (c *conn) passReports() {
	if len(c.reports) == 0 {
		return
	}
	reports := c.reports
	c.reports, c.batch = nil, len(reports)
	c.listener.heard(c, reports[len(reports)-1].Process)
	c.server.handle(c.slot, Reported{Connection: c.id, Reports: reports})
}

func (c *conn) malformed(err error) {
	c.bad++
	c.faults.Malformed++
	c.faults.Last = err
}

// reportFaults passes the faults to the handler, at most once per faultsPeriod, and at the end of the connection.
func (c *conn) reportFaults(last bool) {
	if c.faults == (Faults{}) || (!last && time.Since(c.reported) < faultsPeriod) {
		return
	}
	c.server.handle(c.slot, c.faults)
	c.faults = Faults{}
	c.reported = time.Now()
}
