package socket

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/trellis-gpu/trellis/growth/wire"
)

// unnamed is the rank of a connection whose process does not name its rank.
const unnamed = -1

// scale adapts the rates of a slot to the number of its connections.
func (l *listener) scale() {
	n := max(1, min(len(l.conns), maxScale))
	l.lines.SetLimit(rate.Limit(n * l.limits.Lines))
	l.lines.SetBurst(2 * n * l.limits.Lines)
	l.bytes.SetLimit(rate.Limit(n * l.limits.Bytes))
	l.bytes.SetBurst(max(n*l.limits.Bytes, wire.MaxLine))
}

// heard records a report of a connection. If its rank has connected again, it closes the old connection, which has been
// silent since the first report of the new one, for two polls at least. Two processes that name the same rank both
// report, so both stay connected.
func (l *listener) heard(c *conn, p wire.Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rank := unnamed
	if p.Rank != nil {
		rank = *p.Rank
	}
	l.reports++
	if c.rank != rank || c.first == 0 {
		c.rank, c.first = rank, l.reports
		c.named = time.Now()
	}
	c.last = l.reports
	if rank == unnamed || time.Since(c.named) < 2*l.limits.PollPeriod {
		return
	}
	for _, other := range l.conns {
		if other.rank == rank && other.last < c.first {
			_ = other.Close() // its reader then returns and calls remove
		}
	}
}
