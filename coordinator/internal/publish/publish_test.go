package publish_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"github.com/trellis-gpu/trellis/coordinator/internal/publish"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/programs"
)

var silent = slog.New(slog.DiscardHandler)

// counted is a session with the bus that counts writes.
type counted struct {
	*membus.Session
	mu     sync.Mutex
	writes int
}

func (c *counted) Put(ctx context.Context, key string, value []byte, life bus.Lifetime, guards ...bus.Guard) (bus.Revision, error) {
	c.mu.Lock()
	c.writes++
	c.mu.Unlock()
	return c.Session.Put(ctx, key, value, life, guards...)
}

// running runs run in the background until the test ends.
func running(t *testing.T, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

// pass lets fake time pass, and waits until all goroutines are blocked.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func sample(step int64) bus.Sample { return bus.Sample{Pod: growth.PodRef{UID: "u"}, Step: step} }

func steps(t *testing.T, s *membus.Session) []int64 {
	entries, _, err := s.List(t.Context(), bus.Jobs)
	require.NoError(t, err)
	var steps []int64
	for _, e := range entries {
		got, err := bus.Decode[bus.Sample](e.Value)
		require.NoError(t, err)
		require.Equal(t, growth.NodeName("node"), got.Node)
		steps = append(steps, got.Step)
	}
	return steps
}

func TestRecords_WritesTheNewestOncePerGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		c := &counted{Session: b.Session()}
		records := publish.NewRecords(c, "node", 2*time.Second, silent)
		running(t, records.Run)
		for step := range int64(50) {
			records.Sample(sample(step), false)
			time.Sleep(50 * time.Millisecond) // 2.5 s in all
		}
		pass(time.Second)
		require.Equal(t, []int64{49}, steps(t, c.Session))
		require.Equal(t, 2, c.writes, "after 1 s and 3 s")
		records.Forget("u")
		pass(time.Second)
		require.Empty(t, steps(t, c.Session))
	})
}

func TestRecords_UrgentWriteDelaysTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counted{Session: membus.New().Session()}
		records := publish.NewRecords(c, "node", 5*time.Second, silent)
		running(t, records.Run)
		var written []int
		for step := range int64(20) {
			records.Sample(sample(step), step == 2)
			pass(time.Second)
			written = append(written, c.writes)
		}
		require.Equal(t, []int{1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4}, written)
	})
}

func TestRecords_WritesTheNewestAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membus.New()
		session := b.Session()
		records := publish.NewRecords(session, "node", time.Minute, silent)
		running(t, records.Run)
		b.Fail(bus.ErrUnavailable)
		records.Sample(sample(1), false)
		pass(5 * time.Second)
		records.Sample(sample(2), false)
		pass(5 * time.Second)
		b.Fail(nil)
		pass(time.Second)
		require.Equal(t, []int64{2}, steps(t, session))
		require.NoError(t, session.Close())
		require.Empty(t, steps(t, b.Session()), "samples end with the session of their writer")
	})
}

func TestPods_RetriesAnnotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "u"}})
		failures := 2
		client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			failures--
			return failures >= 0, nil, errors.New("no route to host")
		})
		writer := publish.NewPods(client.CoreV1(), record.NewFakeRecorder(1), silent)
		running(t, writer.Run)
		pod := growth.PodRef{Namespace: "ns", Name: "job", UID: "u"}
		writer.Annotate(pod, gpushare.CategoryAnnotation, "Watching")
		writer.Annotate(pod, gpushare.GPUAnnotation, "GPU-a")
		writer.Annotate(growth.PodRef{Namespace: "ns", Name: "gone", UID: "g"}, gpushare.CategoryAnnotation, "Watching")
		pass(time.Second)
		writer.Annotate(pod, gpushare.CategoryAnnotation, "Converged")
		pass(5 * time.Second)
		got, err := client.CoreV1().Pods("ns").Get(t.Context(), "job", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, map[string]string{gpushare.CategoryAnnotation: "Converged", gpushare.GPUAnnotation: "GPU-a"}, got.Annotations)
	})
}

func TestPods_RecordsEvents(t *testing.T) {
	recorder := record.NewFakeRecorder(2)
	writer := publish.NewPods(fake.NewClientset().CoreV1(), recorder, silent)
	writer.Event(growth.PodRef{Namespace: "ns", Name: "job", UID: "u"}, true, "BadLines", "too many")
	require.Equal(t, "Warning BadLines too many", <-recorder.Events)
}

func TestRecords_PublishesRunsOfPrograms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session := membus.New().Session()
		records := publish.NewRecords(session, "node", time.Second, silent)
		running(t, records.Run)
		id := programs.IDOf("ns", "train")
		records.Runs(node.LearnedProgram{Program: id, Runs: []programs.Run{{Pod: "u"}}})
		pass(2 * time.Second)
		entries, _, err := session.List(t.Context(), bus.Runs)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Equal(t, bus.RunsKey("node", id), entries[0].Key)
		records.Runs(node.LearnedProgram{Program: id})
		pass(2 * time.Second)
		entries, _, err = session.List(t.Context(), bus.Runs)
		require.NoError(t, err)
		require.Empty(t, entries)
	})
}
