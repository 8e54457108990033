package recreate_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
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

// harness is a fake API server that sets UIDs and checks those of deletions, and a bus.
type harness struct {
	t      *testing.T
	client *fake.Clientset
	mem    *membus.Bus
	*recreate.Recreator
	// createErr and dryRunErr are the answers of the API server to a creation.
	createErr, dryRunErr error
}

func newHarness(t *testing.T, pods ...*corev1.Pod) *harness {
	h := &harness{t: t, client: fake.NewClientset(), mem: membus.New()}
	h.Recreator = &recreate.Recreator{Client: h.client, Bus: h.mem.Session(), Resource: gpushare.Resource, Log: slog.New(slog.DiscardHandler)}
	for _, pod := range pods {
		require.NoError(t, h.client.Tracker().Add(pod))
	}
	h.client.PrependReactor("create", "pods", func(action core.Action) (bool, runtime.Object, error) {
		create := action.(core.CreateActionImpl)
		annotations := create.Object.(*corev1.Pod).Annotations
		byUser := slices.ContainsFunc(gpushare.UserAnnotations(), func(name string) bool { return annotations[name] != "" })
		if byUser && !gpushare.RequestsShare(annotations) { // as admission does
			return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "job", errors.New("annotation gpushare/gpu-mem is missing"))
		}
		if len(create.CreateOptions.DryRun) > 0 {
			return true, create.Object, h.dryRunErr
		}
		create.Object.(*corev1.Pod).UID = "new"
		return h.createErr != nil, nil, h.createErr
	})
	h.client.PrependReactor("delete", "pods", func(action core.Action) (bool, runtime.Object, error) {
		deletion := action.(core.DeleteActionImpl)
		object, err := h.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), deletion.Namespace, deletion.Name)
		if err == nil && object.(*corev1.Pod).UID != *deletion.DeleteOptions.Preconditions.UID {
			return true, nil, apierrors.NewConflict(corev1.Resource("pods"), deletion.Name, errors.New("another UID"))
		}
		return false, nil, nil
	})
	return h
}

func (h *harness) uid() types.UID {
	h.t.Helper()
	pod, err := h.client.CoreV1().Pods("team").Get(h.t.Context(), "job", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "none"
	}
	require.NoError(h.t, err)
	return pod.UID
}

func (h *harness) recorded() int {
	h.t.Helper()
	entries, _, err := h.mem.Session().List(h.t.Context(), bus.Refusals)
	require.NoError(h.t, err)
	return len(entries)
}

// record records a pod on the bus, as a replica does that crashes next.
func (h *harness) record(pod *corev1.Pod) {
	h.t.Helper()
	text, err := json.Marshal(recreate.Copy(pod))
	require.NoError(h.t, err)
	value, err := bus.Encode(bus.Refusal{Ref: growth.PodRef{Namespace: "team", Name: "job", UID: "old"}, Again: text})
	require.NoError(h.t, err)
	_, err = h.mem.Session().Put(h.t.Context(), bus.RefusalKey("old"), value, bus.Persistent)
	require.NoError(h.t, err)
}

// recreateAfterDelay runs two passes with the delay of a first rejection in between.
func (h *harness) recreateAfterDelay(pod *corev1.Pod) error {
	now := time.Now()
	return errors.Join(h.Recreate(h.t.Context(), []*corev1.Pod{pod}, now), h.Recreate(h.t.Context(), []*corev1.Pod{pod}, now.Add(time.Second)))
}

func TestRecreator_RecreatesRejectedPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, rejected())
		go func() { _ = h.Run(t.Context()) }()
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, "old", h.uid(), "the cause may persist")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.EqualValues(t, "new", h.uid())
		require.Zero(t, h.recorded())
		events, err := h.client.CoreV1().Events("team").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, events.Items, 1)
		require.EqualValues(t, "new", events.Items[0].InvolvedObject.UID)
		require.Equal(t, "Resubmitted", events.Items[0].Reason)
		require.Equal(t, "Kubelet rejected this pod because kubelet or its device plugin was restarting (UnexpectedAdmissionError: no "+
			"healthy devices present). Trellis has recreated it, because nothing shows that it ran.", events.Items[0].Message)
	})
}

// Admission refuses annotations of a user on a new pod that asks by its limits alone. It is recreated without them, and the event says so.
func TestRecreator_RecreatesPodsByLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		annotated map[string]string
		lacks     string
	}{
		"no annotation of its user": {},
		"annotations of its user": {
			annotated: map[string]string{gpushare.PriorityAnnotation: "2", gpushare.DeadlineAnnotation: "6h"},
			lacks:     " It lacks gpushare/deadline, gpushare/priority: admission refuses",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := rejected()
			delete(pod.Annotations, gpushare.MemoryAnnotation)
			maps.Copy(pod.Annotations, tc.annotated)
			h := newHarness(t, pod)
			require.NoError(t, h.recreateAfterDelay(pod))
			require.EqualValues(t, "new", h.uid())
			again, err := h.client.CoreV1().Pods("team").Get(t.Context(), "job", metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, map[string]string{"note": "mine", gpushare.RefusalsAnnotation: "1"}, again.Annotations)
			require.Equal(t, pod.Spec.Containers, again.Spec.Containers, "its limits are the request")
			events, err := h.client.CoreV1().Events("team").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, events.Items, 1)
			require.Contains(t, events.Items[0].Message, tc.lacks)
			require.Equal(t, tc.lacks != "", strings.Contains(events.Items[0].Message, "It lacks"))
		})
	}
}

func TestRecreator_DelayDoubles(t *testing.T) {
	pod := rejected()
	pod.Annotations[gpushare.RefusalsAnnotation] = "3"
	h := newHarness(t, pod)
	now := time.Now()
	require.NoError(t, h.Recreate(t.Context(), []*corev1.Pod{pod}, now))
	require.NoError(t, h.Recreate(t.Context(), []*corev1.Pod{pod}, now.Add(7*time.Second)))
	require.EqualValues(t, "old", h.uid())
	require.NoError(t, h.Recreate(t.Context(), []*corev1.Pod{pod}, now.Add(8*time.Second)))
	require.EqualValues(t, "new", h.uid())
}

func TestRecreator_CrashLosesNoPod(t *testing.T) {
	for name, pods := range map[string][]*corev1.Pod{"before the deletion": {rejected()}, "before the creation": nil} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, pods...)
			h.record(rejected())
			h.createErr = errors.New("the API server is unavailable")
			require.ErrorContains(t, h.Recreate(t.Context(), nil, time.Now()), "unavailable")
			require.Equal(t, 1, h.recorded(), "the record remains")
			h.createErr = nil
			require.NoError(t, h.Recreate(t.Context(), nil, time.Now()))
			require.EqualValues(t, "new", h.uid())
			require.Zero(t, h.recorded())
		})
	}
}

func TestRecreator_KeepsPodThatFailsDryRun(t *testing.T) {
	h := newHarness(t, rejected())
	h.dryRunErr = apierrors.NewForbidden(corev1.Resource("pods"), "job", errors.New("no right to create pods"))
	require.ErrorContains(t, h.recreateAfterDelay(rejected()), "no right to create pods")
	require.EqualValues(t, "old", h.uid())
	require.Zero(t, h.recorded())
}

func TestRecreator_KeepsPodOfAnotherClient(t *testing.T) {
	theirs := rejected()
	theirs.UID = "theirs"
	h := newHarness(t, theirs)
	require.NoError(t, h.recreateAfterDelay(rejected()), "the informer lags")
	require.Zero(t, h.recorded())
	h.record(rejected())
	require.NoError(t, h.Recreate(t.Context(), nil, time.Now()))
	require.EqualValues(t, "theirs", h.uid())
	require.Zero(t, h.recorded(), "the record is removed")
}

func TestRecreator_WaitsForFinalizers(t *testing.T) {
	h := newHarness(t, rejected())
	h.client.PrependReactor("delete", "pods", func(core.Action) (bool, runtime.Object, error) { return true, nil, nil })
	h.record(rejected())
	require.ErrorContains(t, h.Recreate(t.Context(), nil, time.Now()), "still there")
	require.Equal(t, 1, h.recorded())
}

func TestRecreator_SkipsTerminatingNamespace(t *testing.T) {
	h := newHarness(t)
	h.record(rejected())
	ends := apierrors.NewForbidden(corev1.Resource("pods"), "job", errors.New("being terminated"))
	ends.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	h.createErr = ends
	require.NoError(t, h.Recreate(t.Context(), nil, time.Now()))
	require.Zero(t, h.recorded())
}

func TestRecreator_KeepsPodWhileBusIsUnavailable(t *testing.T) {
	h := newHarness(t, rejected())
	h.mem.Fail(bus.ErrUnavailable)
	require.ErrorIs(t, h.recreateAfterDelay(rejected()), bus.ErrUnavailable)
	require.EqualValues(t, "old", h.uid())
}
