package recreate_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	core "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/extender/internal/recreate"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// world is an API server that gives UIDs and heeds those of a deletion, and a bus.
type world struct {
	t      *testing.T
	client *fake.Clientset
	mem    *membus.Bus
	*recreate.Resubmitter
	// refuse is what the API server answers to a new pod, tried to each that is only tried.
	refuse, tried error
}

func newWorld(t *testing.T, pods ...*corev1.Pod) *world {
	w := &world{t: t, client: fake.NewClientset(), mem: membus.New()}
	w.Resubmitter = &recreate.Resubmitter{Client: w.client, Bus: w.mem.Session(), Resource: gpushare.Resource, Log: slog.New(slog.DiscardHandler)}
	for _, pod := range pods {
		require.NoError(t, w.client.Tracker().Add(pod))
	}
	w.client.PrependReactor("create", "pods", func(action core.Action) (bool, runtime.Object, error) {
		create := action.(core.CreateActionImpl)
		if len(create.CreateOptions.DryRun) > 0 {
			return true, create.Object, w.tried
		}
		create.Object.(*corev1.Pod).UID = "new"
		return w.refuse != nil, nil, w.refuse
	})
	w.client.PrependReactor("delete", "pods", func(action core.Action) (bool, runtime.Object, error) {
		deletion := action.(core.DeleteActionImpl)
		there, err := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), deletion.Namespace, deletion.Name)
		if err == nil && there.(*corev1.Pod).UID != *deletion.DeleteOptions.Preconditions.UID {
			return true, nil, apierrors.NewConflict(corev1.Resource("pods"), deletion.Name, errors.New("another UID"))
		}
		return false, nil, nil
	})
	return w
}

func (w *world) uid() types.UID {
	w.t.Helper()
	pod, err := w.client.CoreV1().Pods("team").Get(w.t.Context(), "job", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "none"
	}
	require.NoError(w.t, err)
	return pod.UID
}

func (w *world) noted() int {
	w.t.Helper()
	entries, _, err := w.mem.Session().List(w.t.Context(), bus.Refusals)
	require.NoError(w.t, err)
	return len(entries)
}

// took writes down a pod, as a replica does that dies next.
func (w *world) took(pod *corev1.Pod) {
	w.t.Helper()
	text, err := json.Marshal(recreate.Again(pod))
	require.NoError(w.t, err)
	value, err := bus.Encode(bus.Refusal{Ref: growth.PodRef{Namespace: "team", Name: "job", UID: "old"}, Again: text})
	require.NoError(w.t, err)
	_, err = w.mem.Session().Put(w.t.Context(), bus.RefusalKey("old"), value, bus.Persistent)
	require.NoError(w.t, err)
}

// twice lets a refused pod wait for as long as one that was refused for the first time waits.
func (w *world) twice(pod *corev1.Pod) error {
	now := time.Now()
	return errors.Join(w.Once(w.t.Context(), []*corev1.Pod{pod}, now), w.Once(w.t.Context(), []*corev1.Pod{pod}, now.Add(time.Second)))
}

func TestAPodThatKubeletRefusedIsSubmittedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, refused())
		go func() { _ = w.Run(t.Context()) }()
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, "old", w.uid(), "what refused it may still be there")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.EqualValues(t, "new", w.uid())
		require.Zero(t, w.noted())
		events, err := w.client.CoreV1().Events("team").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, events.Items, 1)
		require.EqualValues(t, "new", events.Items[0].InvolvedObject.UID)
		require.Equal(t, "Resubmitted", events.Items[0].Reason)
	})
}

func TestEachRefusalIsWaitedForLonger(t *testing.T) {
	pod := refused()
	pod.Annotations[gpushare.RefusalsAnnotation] = "3"
	w := newWorld(t, pod)
	now := time.Now()
	require.NoError(t, w.Once(t.Context(), []*corev1.Pod{pod}, now))
	require.NoError(t, w.Once(t.Context(), []*corev1.Pod{pod}, now.Add(7*time.Second)))
	require.EqualValues(t, "old", w.uid())
	require.NoError(t, w.Once(t.Context(), []*corev1.Pod{pod}, now.Add(8*time.Second)))
	require.EqualValues(t, "new", w.uid())
}

func TestWhoeverDiesInBetweenThePodIsNotLost(t *testing.T) {
	for name, there := range map[string][]*corev1.Pod{"before the old one is deleted": {refused()}, "before the new one is made": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, there...)
			w.took(refused())
			w.refuse = errors.New("the API server is away")
			require.ErrorContains(t, w.Once(t.Context(), nil, time.Now()), "away")
			require.Equal(t, 1, w.noted(), "all that is left of it")
			w.refuse = nil
			require.NoError(t, w.Once(t.Context(), nil, time.Now()))
			require.EqualValues(t, "new", w.uid())
			require.Zero(t, w.noted())
		})
	}
}

func TestWhatTheAPIServerWouldNotTakeIsNotDeleted(t *testing.T) {
	w := newWorld(t, refused())
	w.tried = apierrors.NewForbidden(corev1.Resource("pods"), "job", errors.New("no right to make pods"))
	require.ErrorContains(t, w.twice(refused()), "no right to make pods")
	require.EqualValues(t, "old", w.uid())
	require.Zero(t, w.noted())
}

func TestAPodThatSomebodyElseMadeStays(t *testing.T) {
	theirs := refused()
	theirs.UID = "theirs"
	w := newWorld(t, theirs)
	require.NoError(t, w.twice(refused()), "an informer that is behind")
	require.Zero(t, w.noted())
	w.took(refused())
	require.NoError(t, w.Once(t.Context(), nil, time.Now()))
	require.EqualValues(t, "theirs", w.uid())
	require.Zero(t, w.noted(), "nothing is left to do")
}

func TestAPodThatIsHeldIsWaitedFor(t *testing.T) {
	w := newWorld(t, refused())
	w.client.PrependReactor("delete", "pods", func(core.Action) (bool, runtime.Object, error) { return true, nil, nil })
	w.took(refused())
	require.ErrorContains(t, w.Once(t.Context(), nil, time.Now()), "still there")
	require.Equal(t, 1, w.noted())
}

func TestNothingIsSubmittedIntoANamespaceThatGoes(t *testing.T) {
	w := newWorld(t)
	w.took(refused())
	ends := apierrors.NewForbidden(corev1.Resource("pods"), "job", errors.New("being terminated"))
	ends.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	w.refuse = ends
	require.NoError(t, w.Once(t.Context(), nil, time.Now()))
	require.Zero(t, w.noted())
}

func TestWhileTheBusIsAwayNothingIsDeleted(t *testing.T) {
	w := newWorld(t, refused())
	w.mem.Fail(bus.ErrUnavailable)
	require.ErrorIs(t, w.twice(refused()), bus.ErrUnavailable)
	require.EqualValues(t, "old", w.uid())
}
