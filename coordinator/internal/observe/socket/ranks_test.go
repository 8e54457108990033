package socket_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
)

// ofRank is a report of a rank.
func ofRank(rank, step int) string {
	return fmt.Sprintf("{\"v\":1,\"type\":\"progress\",\"step\":%d,\"rank\":%d,\"world_size\":8}\n", step, rank)
}

func (r *received) disconnected(slot string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, e := range r.events[slot] {
		if _, ok := e.(socket.Disconnected); ok {
			n++
		}
	}
	return n
}

func (r *received) connections(slot string) map[int64]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	reports := map[int64]int{}
	for _, e := range r.events[slot] {
		if m, ok := e.(socket.Reported); ok {
			reports[m.Connection] += len(m.Reports)
		}
	}
	return reports
}

// write writes a line and fails the test if the connection is closed.
func write(t *testing.T, c net.Conn, line string) {
	t.Helper()
	_, err := c.Write([]byte(line))
	require.NoError(t, err)
}

// requireEnd waits until the server has closed a connection.
func requireEnd(t *testing.T, c net.Conn, why string) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err := c.Read(make([]byte, 1))
	require.ErrorContains(t, err, "EOF", why)
}

func TestServer_EachRankKeepsItsConnection(t *testing.T) {
	for name, line := range map[string]func(rank, step int) string{
		"ranks that name themselves":  ofRank,
		"processes without a rank":    func(_, step int) string { return progress(step) },
		"processes that say the same": func(_, step int) string { return ofRank(0, step) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ranks, steps = 8, 100 // more lines than one connection may send
			h := serve(t, socket.DefaultLimits, "one")
			conns := make([]net.Conn, ranks)
			for rank := range conns { // all at once
				conns[rank] = h.dial(t, "one")
			}
			for step := range steps {
				for rank, c := range conns {
					write(t, c, line(rank, step))
				}
				time.Sleep(10 * time.Millisecond) // the limits are rates
			}
			h.eventually(t, "all reports", func() bool { return len(h.steps("one")) == ranks*steps })
			require.Len(t, h.connections("one"), ranks, "no rank had to connect again")
			require.Zero(t, h.disconnected("one"))
			require.Zero(t, h.faults("one"))
		})
	}
}

func TestServer_RankThatConnectsAgainReplacesItsOldConnection(t *testing.T) {
	limits := socket.DefaultLimits
	limits.PollPeriod = 20 * time.Millisecond
	h := serve(t, limits, "one")
	other, old := h.dial(t, "one"), h.dial(t, "one")
	write(t, other, ofRank(1, 1))
	write(t, old, ofRank(3, 1)+ofRank(3, 2))
	h.eventually(t, "the old connection", func() bool { return len(h.steps("one")) == 3 })
	again := h.dial(t, "one")
	write(t, again, ofRank(3, 3))
	h.eventually(t, "the new connection", func() bool { return len(h.steps("one")) == 4 })
	time.Sleep(3 * limits.PollPeriod) // the old connection is silent for several polls
	write(t, again, ofRank(3, 4))
	requireEnd(t, old, "the old connection of rank 3 is closed")
	h.eventually(t, "the report that a connection has ended", func() bool { return h.disconnected("one") == 1 })
	write(t, other, ofRank(1, 2))
	write(t, again, ofRank(3, 5))
	h.eventually(t, "the others go on", func() bool { return len(h.steps("one")) == 7 })
	require.Equal(t, 1, h.disconnected("one"))
}

func TestServer_RatesGrowWithTheConnections(t *testing.T) {
	for name, tc := range map[string]struct{ connections, lines, dropped int }{
		"two connections":  {2, 700, 0},
		"many connections": {16, 8000, 1000}, // 8 times the rate of one, not 16 times
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, socket.DefaultLimits, "one")
			conns := make([]net.Conn, tc.connections)
			for i := range conns {
				conns[i] = h.dial(t, "one")
			}
			h.eventually(t, "all are connected", func() bool {
				h.mu.Lock()
				defer h.mu.Unlock()
				return len(h.events["one"]) == tc.connections
			})
			for i := range tc.lines {
				write(t, conns[i%len(conns)], progress(1))
			}
			for _, c := range conns {
				require.NoError(t, c.Close())
			}
			h.eventually(t, "all lines", func() bool { return len(h.steps("one"))+h.faults("one").Dropped == tc.lines })
			if tc.dropped == 0 {
				require.Zero(t, h.faults("one").Dropped)
			} else {
				require.Greater(t, h.faults("one").Dropped, tc.dropped)
			}
		})
	}
}
