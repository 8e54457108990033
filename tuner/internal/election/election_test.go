package election_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/tuner/internal/election"
)

// candidate takes part in an election until it is stopped.
type candidate struct {
	leaders atomic.Int32
	terms   atomic.Int32
	stop    func()
}

func startCandidate(t *testing.T, client kubernetes.Interface) *candidate {
	c := &candidate{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- election.Run(ctx, client, "trellis", slog.New(slog.DiscardHandler), func(ctx context.Context) {
			c.terms.Add(1)
			c.leaders.Add(1)
			<-ctx.Done()
			c.leaders.Add(-1)
		})
	}()
	c.stop = func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	}
	return c
}

// elapse lets time pass and checks throughout that there is at most one leader.
func elapse(t *testing.T, d time.Duration, candidates ...*candidate) {
	for range d / (100 * time.Millisecond) {
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		leaders := int32(0)
		for _, c := range candidates {
			leaders += c.leaders.Load()
		}
		require.LessOrEqual(t, leaders, int32(1))
	}
}

func TestRun_ElectsOneLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		first := startCandidate(t, client)
		elapse(t, time.Second, first)
		require.Equal(t, int32(1), first.leaders.Load())
		second := startCandidate(t, client)
		elapse(t, time.Minute, first, second)
		require.Equal(t, int32(0), second.leaders.Load())

		first.stop()
		require.Equal(t, int32(0), first.leaders.Load(), "Run returns after advise has returned")
		elapse(t, 10*time.Second, first, second)
		require.Equal(t, int32(1), second.leaders.Load(), "the leader releases the Lease")
		second.stop()
	})
}

func TestRun_StepsDownWithoutLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var down atomic.Bool
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return down.Load(), nil, errors.New("the API server is unavailable")
		})
		c := startCandidate(t, client)
		elapse(t, 5*time.Second, c)
		require.Equal(t, int32(1), c.leaders.Load())

		down.Store(true)
		elapse(t, 15*time.Second, c)
		require.Equal(t, int32(0), c.leaders.Load())
		down.Store(false)
		elapse(t, 30*time.Second, c)
		require.Equal(t, int32(1), c.leaders.Load())
		require.Equal(t, int32(2), c.terms.Load())
		c.stop()

		lease, err := client.CoordinationV1().Leases("trellis").Get(t.Context(), election.LeaseName,
			metav1.GetOptions{})
		require.NoError(t, err)
		require.Empty(t, *lease.Spec.HolderIdentity, "the Lease is released")
	})
}
