package turns

import (
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// fakeFreezer records which containers are frozen, and for how long each was thawed.
type fakeFreezer struct {
	mu     sync.Mutex
	frozen map[string]bool
	since  map[string]time.Time
	ran    map[string]time.Duration
	broken bool
}

func newFakeFreezer() *fakeFreezer {
	return &fakeFreezer{frozen: map[string]bool{}, since: map[string]time.Time{}, ran: map[string]time.Duration{}}
}

func (f *fakeFreezer) Freeze(_ growth.PodUID, container string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return errors.New("no cgroup v2")
	}
	if !f.frozen[container] {
		f.ran[container] += time.Since(f.since[container])
	}
	f.frozen[container] = true
	return nil
}

func (f *fakeFreezer) Thaw(_ growth.PodUID, container string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.frozen[container] {
		f.since[container] = time.Now()
	}
	f.frozen[container] = false
	return nil
}

func (f *fakeFreezer) isFrozen(container string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.frozen[container]
}

func freezingServer(t *testing.T, f *fakeFreezer) *Server {
	s := New(t.TempDir(), t.TempDir(), turn.Default, slog.New(slog.DiscardHandler), NewMetrics(prometheus.NewRegistry()))
	s.FreezeBy(f)
	return s
}

// planned has jobs on one GPU with their shares, each frozen between its turns.
func planned(open bool, shares map[growth.PodUID]growth.Share, order ...growth.PodUID) node.TurnPlan {
	g := node.TurnGroup{GPUs: []growth.GPU{"GPU-0"}, Open: open}
	for _, id := range order {
		g.Jobs = append(g.Jobs, node.TurnJob{Pod: id, GPUs: g.GPUs, Share: shares[id], Freeze: "container-" + string(id)})
	}
	return node.TurnPlan{Groups: []node.TurnGroup{g}}
}

var threeToOne = map[growth.PodUID]growth.Share{"a": 0.75, "b": 0.25}

func TestFreeze_DividesTimeInQuantaOfSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeFreezer()
		f.since["container-a"], f.since["container-b"] = time.Now(), time.Now()
		s := freezingServer(t, f)
		s.Plan(planned(false, threeToOne, "a", "b"))
		last, switches := f.isFrozen("container-a"), 0
		for range 6000 { // ten minutes
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			a, b := f.isFrozen("container-a"), f.isFrozen("container-b")
			require.False(t, a && b, "one of them computes")
			if a != last {
				last = a
				switches++
			}
		}
		uses := s.Use()
		require.InDelta(t, 0.75, float64(uses["a"].Held)/600, 0.03)
		require.Less(t, switches, 320, "a quantum has two seconds or more")
		require.Greater(t, switches, 20)
		s.Shutdown()
		require.False(t, f.isFrozen("container-a") || f.isFrozen("container-b"), "nothing stays frozen")
	})
}

func TestFreeze_Thaws(t *testing.T) {
	for name, change := range map[string]func(s *Server){
		"a group that is open": func(s *Server) { s.Plan(planned(true, threeToOne, "a", "b")) },
		"a job that is alone":  func(s *Server) { s.Plan(planned(false, threeToOne, "b")); s.Plan(planned(false, threeToOne, "a")) },
		"jobs that have left":  func(s *Server) { s.Plan(node.TurnPlan{}) },
		"jobs that are frozen no longer": func(s *Server) {
			plan := planned(false, threeToOne, "a", "b")
			plan.Groups[0].Jobs[0].Freeze, plan.Groups[0].Jobs[1].Freeze = "", ""
			s.Plan(plan)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeFreezer()
				s := freezingServer(t, f)
				s.Plan(planned(false, threeToOne, "a", "b"))
				time.Sleep(5 * time.Second)
				synctest.Wait()
				require.True(t, f.isFrozen("container-a") != f.isFrozen("container-b"))
				change(s)
				synctest.Wait()
				require.False(t, f.isFrozen("container-a") || f.isFrozen("container-b"))
				s.Shutdown()
			})
		})
	}
}

// The scheduler never lets a job wait this long; if it did, the job would be thawed.
func TestFreeze_ThawsAfterABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeFreezer()
		s := freezingServer(t, f)
		s.Plan(planned(false, map[growth.PodUID]growth.Share{"a": 0.999, "b": 0.001}, "a", "b"))
		frozenFor := time.Duration(0)
		for range 1200 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if frozenFor += 100 * time.Millisecond; !f.isFrozen("container-b") {
				frozenFor = 0
			}
			require.LessOrEqual(t, frozenFor, mostFrozen)
		}
		s.Shutdown()
	})
}

// The timer of a group may fire while a plan replaces the group. Its scheduler would give turns next to that of the new group.
func TestGroup_DoesNothingOnceItIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := freezingServer(t, newFakeFreezer())
		plan := planned(false, threeToOne, "a", "b")
		s.Plan(plan)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		old := s.groups[0]
		plan.Groups[0].GPUs = []growth.GPU{"GPU-0", "GPU-1"}
		s.Plan(plan)
		time.Sleep(time.Minute)
		old.woken()
		require.False(t, old.timer.Stop(), "it has stepped, and waits for its next turn")
		s.Shutdown()
	})
}

func TestFreeze_FallsBackWhereItFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeFreezer()
		f.broken = true
		s := freezingServer(t, f)
		s.Plan(planned(false, threeToOne, "a", "b"))
		time.Sleep(20 * time.Second)
		synctest.Wait()
		uses := s.Use()
		require.True(t, uses["a"].Unfreezable || uses["b"].Unfreezable)
		require.False(t, f.isFrozen("container-a") || f.isFrozen("container-b"))

		without := planned(false, threeToOne, "a", "b")
		without.Groups[0].Jobs[0].Freeze, without.Groups[0].Jobs[1].Freeze = "", ""
		s.Plan(without)
		synctest.Wait()
		again := s.Use()
		require.Equal(t, uses["a"].Unfreezable, again["a"].Unfreezable, "the plan would name the container again")
		require.Equal(t, uses["b"].Unfreezable, again["b"].Unfreezable)
		s.Shutdown()
	})
}
