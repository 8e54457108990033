package loop_test

import (
	"encoding/csv"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// recorded is one line of a recording of a job's connections.
type recorded struct {
	at         time.Duration
	connection int
	line       string
}

func readRecording(t *testing.T, name string) (lines []recorded, connections int) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	for _, row := range rows[1:] {
		at, err := strconv.Atoi(row[0])
		require.NoError(t, err)
		connection, err := strconv.Atoi(row[1])
		require.NoError(t, err)
		lines = append(lines, recorded{time.Duration(at) * time.Millisecond, connection, row[2] + "\n"})
		connections = max(connections, connection+1)
	}
	return lines, connections
}

// socketNode is a node that receives the messages of one job through a real socket.
type socketNode struct {
	mu       sync.Mutex
	node     *node.Node
	events   []string
	reports  int
	departed int
}

func (s *socketNode) step(e node.Event) {
	for _, event := range s.node.Step(time.Now(), e).Events {
		s.events = append(s.events, event.Reason)
	}
}

func (s *socketNode) handle(slot string, e socket.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := e.(type) {
	case socket.Reported:
		s.step(node.ProcessReported{Slot: slot, Connection: e.Connection, Reports: e.Reports})
		s.reports += len(e.Reports)
	case socket.Disconnected:
		s.step(node.ProcessLeft{Slot: slot, Connection: e.Connection})
		s.departed++
	}
}

// Six ranks report through one socket, as recorded. Without their ranks, the result is the same.
func TestSocket_RanksOfAJobHaveOneCurve(t *testing.T) {
	ranks := regexp.MustCompile(`,"rank".*"world_size":\d+`)
	for name, tc := range map[string]struct {
		change func(line string) string
		below  float64 // the loss of a rank that may have the curve
	}{
		"ranks that name themselves": {func(line string) string { return line }, 0.71},
		"processes without a rank":   {func(line string) string { return ranks.ReplaceAllString(line, "") }, 0.81},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &socketNode{node: node.New(node.Config{Policy: policy.FlowCon, Interval: interval, Damping: node.KubeletDamping(interval)})}
			state := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(state, gpushare.SlotsDir, "slot-a"), 0o755))
			server, err := socket.New(state, socket.DefaultLimits, slog.New(slog.DiscardHandler), s.handle)
			require.NoError(t, err)
			defer server.Shutdown()
			require.NoError(t, server.Open(t.Context(), "slot-a"))
			s.mu.Lock()
			s.step(node.CapacityChanged{CPU: 16 * growth.Core})
			s.step(node.PodUpdated{Pod: node.Pod{
				Ref:         ref("a"),
				Running:     true,
				Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.MetricAnnotation: "loss:min"},
				Containers:  []node.Container{{Name: "train", Request: 500}},
			}})
			s.step(node.AllocationsChanged{Synced: true, Allocations: []bus.Allocation{{
				Pod: ref("a"), Containers: []bus.ContainerAllocation{{Name: "train", Slot: "slot-a"}},
			}}})
			s.step(node.SlotsOpened{Slots: []string{"slot-a"}})
			s.mu.Unlock()

			lines, connections := readRecording(t, "six-ranks.csv")
			conns := make([]net.Conn, connections)
			for i := range conns {
				conns[i], err = net.Dial("unix", filepath.Join(state, gpushare.SlotsDir, "slot-a", gpushare.SocketName))
				require.NoError(t, err)
				defer conns[i].Close()
			}
			begin := time.Now()
			for _, l := range lines { // four times as fast as recorded
				time.Sleep(time.Until(begin.Add(l.at / 4)))
				_, err := conns[l.connection].Write([]byte(tc.change(l.line)))
				require.NoError(t, err, "the connection of each rank stays open")
			}
			require.Eventually(t, func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.reports == len(lines)
			}, 10*time.Second, 10*time.Millisecond)

			s.mu.Lock()
			defer s.mu.Unlock()
			effects := s.node.Step(time.Now(), node.Ticked{})
			sample, ok, err := s.node.Sample(ref("a").UID)
			require.NoError(t, err)
			require.True(t, ok)
			require.Zero(t, s.departed)
			require.NotContains(t, s.events, "JobRestarted")
			require.Equal(t, int64(30), sample.Step)
			require.Greater(t, sample.Value, 0.70)
			require.Less(t, sample.Value, tc.below)
			require.Equal(t, 6, sample.Ranks)
			require.Equal(t, 6, sample.WorldSize)
			require.InDelta(t, 0.4, float64(sample.StepSeconds), 1e-9, "steps are not multiplied by the ranks")
			require.Equal(t, 16-6, effects.Load.LoaderBudget, "each training process has a core")
		})
	}
}
