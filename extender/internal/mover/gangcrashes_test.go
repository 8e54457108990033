package mover_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/mover"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// Something fails before the first write of a move of two pods, before the second one, and so on, until the move makes no more of
// them. The job moves completely if it can save, and not at all if it cannot.
func TestMover_MovesOfGangsSurviveAFailureBeforeEachWrite(t *testing.T) {
	tests := map[string]failure{
		"the mover dies":                         {calls: onBus | onAPI, dies: true},
		"the bus is unavailable":                 {calls: onBus, passes: 3},
		"the API server is unavailable":          {calls: onAPI, passes: 3},
		"the coordinators are away":              {away: 20 * time.Second},
		"of a PyTorchJob, the mover dies":        {calls: onBus | onAPI, dies: true, own: ownPyTorch},
		"of a PyTorchJob, no API server":         {calls: onAPI, passes: 3, own: ownPyTorch},
		"the mover dies; no save":                {calls: onBus | onAPI, dies: true, unsaved: "the volume is full"},
		"the bus is unavailable; no save":        {calls: onBus, passes: 3, unsaved: "the volume is full"},
		"the API server is unavailable; no save": {calls: onAPI, passes: 3, unsaved: "the volume is full"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			writes := 0
			for failed := true; failed && !t.Failed(); writes++ {
				require.Less(t, writes, 100, "a move makes few writes")
				synctest.Test(t, func(t *testing.T) {
					w := newFailing(t, test, writes)
					w.run()
					failed = w.failed
				})
			}
			t.Logf("%d writes", writes-1)
			require.Greater(t, writes, 5)
		})
	}
}

// failure is what fails, and how.
type failure struct {
	calls   calls
	dies    bool          // the mover, and another one starts
	passes  int           // of the mover in which its calls fail
	away    time.Duration // of the coordinators
	unsaved string        // why one of the pods cannot save
	own     func(*corev1.Pod)
}

// calls are the programs that a mover calls.
type calls int

const (
	onBus calls = 1 << iota
	onAPI
)

var errFails = errors.New("it fails")

// failing is a cluster in which something fails once.
type failing struct {
	*gangHarness
	failure
	left    int // writes until then
	failed  bool
	passing bool // the mover makes a pass
	failsIn int  // passes in which calls fail, also the present one
	awayFor time.Time
}

func newFailing(t *testing.T, f failure, write int) *failing {
	if f.own == nil {
		f.own = own
	}
	w := &failing{gangHarness: newGangHarnessOf(t, f.own), failure: f, left: write}
	for _, verb := range []string{"create", "update", "patch", "delete"} {
		w.Client.PrependReactor(verb, "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			err := w.call(onAPI, action.GetResource().Resource != "events")
			return err != nil, nil, err
		})
	}
	w.restart()
	return w
}

// restart starts another mover.
func (w *failing) restart() {
	w.start(mover.Requested)
	w.mover.Bus = failingBus{w.Bus, w}
	w.mover.Memory = failingMemory{w.scheduler, w}
}

// call returns an error if a call of the mover fails. writes is set if it is one of those that are counted.
func (w *failing) call(to calls, writes bool) error {
	if !w.passing {
		return nil
	}
	if writes && !w.failed && (w.calls == 0 || w.calls&to != 0) {
		if w.left--; w.left < 0 {
			w.failed, w.failsIn = true, max(1, w.passes)
			w.awayFor = time.Now().Add(w.away)
		}
	}
	if w.failsIn > 0 && w.calls&to != 0 {
		return errFails
	}
	return nil
}

// failingBus is the connection of the mover.
type failingBus struct {
	mover.Bus
	w *failing
}

func (b failingBus) List(ctx context.Context, prefix string) ([]bus.Entry, bus.Revision, error) {
	if err := b.w.call(onBus, false); err != nil {
		return nil, 0, err
	}
	return b.Bus.List(ctx, prefix)
}

func (b failingBus) Put(ctx context.Context, key string, value []byte, life bus.Lifetime, guards ...bus.Guard) (bus.Revision, error) {
	if err := b.w.call(onBus, true); err != nil {
		return 0, err
	}
	return b.Bus.Put(ctx, key, value, life, guards...)
}

func (b failingBus) Commit(ctx context.Context, writes []bus.Write, guards ...bus.Guard) (bus.Revision, error) {
	if err := b.w.call(onBus, true); err != nil {
		return 0, err
	}
	return b.Bus.Commit(ctx, writes, guards...)
}

func (b failingBus) Delete(ctx context.Context, key string, guards ...bus.Guard) error {
	if err := b.w.call(onBus, true); err != nil {
		return err
	}
	return b.Bus.Delete(ctx, key, guards...)
}

// failingMemory reserves memory on the bus.
type failingMemory struct {
	mover.Memory
	w *failing
}

func (m failingMemory) Hold(ctx context.Context, old growth.PodUID, on growth.NodeName) error {
	if err := m.w.call(onBus, !m.Held(old, on)); err != nil {
		return err
	}
	return m.Memory.Hold(ctx, old, on)
}

func (m failingMemory) Drop(ctx context.Context, old growth.PodRef, on growth.NodeName) (bool, error) {
	if err := m.w.call(onBus, m.Held(old.UID, on)); err != nil {
		return false, err
	}
	return m.Memory.Drop(ctx, old, on)
}

// run moves the job to the end, and checks that it has moved completely, or not at all.
func (w *failing) run() {
	w.edit("g-0", func(p *corev1.Pod) { p.Annotations[gpushare.MoveAnnotation] = "c" })
	w.Settle()
	for pass := 0; pass < 200 && !w.settled(); pass++ {
		w.passOnce()
		w.live()
		w.Settle()
		w.check()
	}
	require.True(w.T, w.settled(), "the move has ended: %v\n%s", w.states(), w.events())
	for range 3 { // what is left to do, and nothing more
		w.passOnce()
		w.live()
		w.Settle()
	}
	w.check()
	if w.unsaved != "" {
		w.requireStayed()
		return
	}
	w.requireMoved()
}

// passOnce lets the mover make a pass, in which its calls may fail.
func (w *failing) passOnce() {
	w.passing = true
	err := w.mover.Pass(w.T.Context(), time.Now())
	w.passing = false
	if w.failsIn == 0 {
		require.NoError(w.T, err)
		return
	}
	if w.failsIn--; w.dies {
		w.restart()
	}
}

// settled reports whether the records of both pods have ended.
func (w *failing) settled() bool {
	records := w.moves()
	return len(records) == 2 && records[0].State.Final() && records[1].State.Final()
}

// live lets the rest of the cluster go on: the coordinators, the Job controller, the device plugins and kube-scheduler.
func (w *failing) live() {
	for i, on := range []growth.NodeName{"a", "b"} {
		index := strconv.Itoa(i)
		old := w.find("g-" + index)
		if old == nil {
			require.NoError(w.T, w.Bus.Delete(w.T.Context(), bus.AllocationKey(on, growth.PodUID("g-"+index+"-uid"))))
		} else {
			w.control(old)
			w.coordinate(old)
		}
		next := w.find("new-" + index)
		switch {
		case next == nil && (old == nil || len(old.OwnerReferences) == 0):
			pod := clustertest.Pod("new-"+index, "4Gi", 4)
			w.gangHarness.own(pod)
			w.Create(pod)
		case next != nil && next.Spec.NodeName == "":
			w.schedule(next)
		case next != nil && time.Now().After(w.awayFor):
			ref := clustertest.Ref(next)
			clustertest.Record(w.Cluster, bus.SampleKey(ref.UID), bus.Sample{Pod: ref, Node: growth.NodeName(next.Spec.NodeName), Step: 40})
		}
	}
}

// find returns a pod; nil if there is none.
func (w *failing) find(name string) *corev1.Pod {
	pod, err := w.Client.CoreV1().Pods("default").Get(w.T.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w.T, err)
	return pod
}

// control releases a pod of the Job that its label does not select.
func (w *failing) control(old *corev1.Pod) {
	owner := metav1.GetControllerOf(old)
	if _, selected := old.Labels[batchv1.ControllerUidLabel]; !selected && owner != nil && owner.Kind == "Job" {
		w.edit(old.Name, func(p *corev1.Pod) { p.OwnerReferences = nil })
	}
}

// coordinate answers a request to save.
func (w *failing) coordinate(old *corev1.Pod) {
	request := old.Annotations[gpushare.SaveAnnotation]
	saved, err := gpushare.ParseSaved(old.Annotations[gpushare.SavedAnnotation])
	if request == "" || err == nil && saved.Request == request || !time.Now().After(w.awayFor) {
		return
	}
	if old.Name == "g-1" && w.unsaved != "" {
		w.answer(old.Name, 0, w.unsaved)
		return
	}
	w.answer(old.Name, 40, "")
}

// schedule does what kube-scheduler does with a pod.
func (w *failing) schedule(pod *corev1.Pod) {
	result, err := w.scheduler.Filter(pod, []string{"a", "b", "c"})
	if err == nil && len(result.Fit()) > 0 {
		_ = w.scheduler.Bind(w.T.Context(), clustertest.Ref(pod), growth.NodeName(result.Fit()[0])) // it tries again
	}
}

// check checks what must hold at any time.
func (w *failing) check() {
	require.Zero(w.T, w.Cache.Snapshot().OverCommitted())
	for _, record := range w.moves() {
		if len(w.evicted) > 0 {
			require.NotContains(w.T, []move.State{move.Proposed, move.Saving, move.Aborted}, record.State, "a pod was evicted before all had saved")
		}
	}
	for _, name := range []string{"new-0", "new-1"} {
		if next := w.find(name); next != nil && next.Spec.NodeName != "" {
			require.Nil(w.T, w.find("g-0"), "%s runs next to an old pod", name)
			require.Nil(w.T, w.find("g-1"), "%s runs next to an old pod", name)
		}
	}
}

func (w *failing) requireMoved() {
	require.Equal(w.T, both(move.Done), w.states(), w.events())
	require.ElementsMatch(w.T, []string{"g-0", "g-1"}, w.evicted, "each is evicted once")
	for name, on := range map[string]growth.NodeName{"new-0": "c", "new-1": "b"} {
		require.Equal(w.T, string(on), w.find(name).Spec.NodeName)
		require.Len(w.T, w.Reservations(on), 1, "only that of the new pod")
		require.Contains(w.T, w.Reservations(on), growth.PodUID(name+"-uid"))
	}
	require.Empty(w.T, w.Reservations("a"))
}

func (w *failing) requireStayed() {
	require.Equal(w.T, both(move.Aborted), w.states(), w.events())
	require.Empty(w.T, w.evicted)
	for _, name := range []string{"g-0", "g-1"} {
		for _, annotation := range []string{gpushare.SaveAnnotation, gpushare.PausedAnnotation, gpushare.MoveAnnotation} {
			require.False(w.T, w.annotated(name, annotation), "%s of %s", annotation, name)
		}
	}
	for _, on := range []growth.NodeName{"a", "b", "c"} {
		require.Empty(w.T, w.Reservations(on))
	}
	require.NotContains(w.T, w.events(), "MoveRefused")
}
