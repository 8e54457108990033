package socket

import (
	"bufio"
	"context"
	"errors"
	"time"

	"github.com/trellis-gpu/trellis/growth/wire"
)

var errDirection = errors.New("a message that only the coordinator sends")

// faultsPeriod is the minimum time between two Faults of a connection, so that a flood of lines causes few events.
const faultsPeriod = time.Second

// maxBatch bounds the reports of one Reported.
const maxBatch = 64

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
