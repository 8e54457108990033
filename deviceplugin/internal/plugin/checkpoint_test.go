package plugin_test

import (
	"context"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/kubelettest"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// recordedEvents are the events that the plugin has recorded.
type recordedEvents struct {
	mu     sync.Mutex
	events []string
}

func (r *recordedEvents) Warning(_ context.Context, about apiserver.ObjectRef, reason, _ string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, about.Name+" "+reason)
	return nil
}

func (r *recordedEvents) sorted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.events))
}

// setRunning changes whether the API server reports the containers of a pod as running.
func (w *harness) setRunning(name string, running bool) {
	w.api.change(func() {
		for i, p := range w.api.pods {
			if p.Ref.Name != name {
				continue
			}
			w.api.pods[i].Containers = slices.Clone(p.Containers)
			for j := range p.Containers {
				w.api.pods[i].Containers[j].Running = running
			}
		}
	})
}

// startRunning runs a pod of one container and returns its ids.
func (w *harness) startRunning(name string, created, units int) []string {
	w.t.Helper()
	pod := w.bindPod(name, created, nil, main(units))
	w.runPod(pod)
	w.setRunning(name, true)
	w.eventually(func() bool { _, ok := w.allocation(name); return ok }, "the allocation is recorded")
	return ids(pod)
}

// loseCheckpoint restarts kubelet without its checkpoint, and waits until the plugin has registered again.
func (w *harness) loseCheckpoint() {
	w.t.Helper()
	registrations := w.kubelet.Registrations()
	require.NoError(w.t, w.kubelet.LoseCheckpoint())
	w.eventually(func() bool {
		return w.kubelet.Registrations() > registrations && w.kubelet.Allocatable() > 0
	}, "the plugin registers again")
}

// A GPU has 10 units. Two jobs of 4 run when kubelet loses its checkpoint. A job of 2 gets the other units; a job of 4 is
// rejected. The cases differ in what the plugin can still read.
func TestCheckpointLost_RunningPodsKeepTheirDevices(t *testing.T) {
	for name, meanwhile := range map[string]func(*harness){
		"the plugin keeps running": func(*harness) {},
		"the plugin restarts": func(w *harness) {
			w.stopPlugin()
			w.startPlugin("emulated:1x10GiB")
		},
		"the plugin restarts and the bus has lost its records": func(w *harness) {
			w.stopPlugin()
			for _, uid := range []string{"uid-vae", "uid-lstm"} {
				require.NoError(w.t, w.session.Delete(w.t.Context(), bus.AllocationsPrefix(node)+uid))
			}
			w.startPlugin("emulated:1x10GiB")
		},
		"the slots on disk are lost": func(w *harness) {
			w.stopPlugin()
			require.NoError(w.t, os.RemoveAll(w.state+"/slots"))
			w.startPlugin("emulated:1x10GiB")
		},
		"kubelet restarts once more": func(w *harness) {
			registrations := w.kubelet.Registrations()
			require.NoError(w.t, w.kubelet.Restart())
			w.eventually(func() bool { return w.kubelet.Registrations() > registrations && w.kubelet.Allocatable() == 10 },
				"registers again")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, "emulated:1x10GiB")
			held := slices.Concat(w.startRunning("vae", 1, 4), w.startRunning("lstm", 2, 4))
			w.loseCheckpoint()
			meanwhile(w)

			small := w.bindPod("small", 3, nil, main(2))
			w.runPod(small)
			require.Empty(t, intersection(held, ids(small)))
			large := w.bindPod("large", 4, nil, main(4))
			require.ErrorContains(t, w.kubelet.Admit(t.Context(), large),
				"kubelet has forgotten that pod ns/")
		})
	}
}

func TestCheckpointLost_RecordIsWrittenAgain(t *testing.T) {
	w := newHarness(t, "emulated:1x10GiB")
	held := w.startRunning("vae", 1, 4)
	w.loseCheckpoint()
	require.NoError(t, w.session.Delete(t.Context(), bus.AllocationKey(node, "uid-vae")))
	w.eventually(func() bool { _, ok := w.allocation("vae"); return ok }, "the slot on disk names the pod and its ids")
	after, _ := w.allocation("vae")
	require.ElementsMatch(t, held, after.Containers[0].IDs)
}

func TestCheckpointLost_EventAndRecordsStay(t *testing.T) {
	w := newHarness(t, "emulated:1x10GiB")
	w.startRunning("vae", 1, 4)
	before, _ := w.allocation("vae")
	w.loseCheckpoint()
	w.eventually(func() bool { return len(w.events.sorted()) == 1 }, "an event")
	require.Equal(t, []string{"vae DevicesForgotten"}, w.events.sorted())
	w.api.change(func() {}) // one more reconciliation
	require.Never(t, func() bool {
		after, ok := w.allocation("vae")
		return !ok || !slices.Equal(after.Containers[0].IDs, before.Containers[0].IDs) || len(w.events.sorted()) > 1
	}, 700*time.Millisecond, 20*time.Millisecond, "the record stays, and the event is sent once")
}

func TestCheckpointLost_DevicesOfEndedPodsReturn(t *testing.T) {
	w := newHarness(t, "emulated:1x10GiB")
	vae := w.bindPod("vae", 1, nil, main(8))
	w.runPod(vae)
	w.setRunning("vae", true)
	held := slices.Clone(ids(vae))
	w.loseCheckpoint()
	next := w.bindPod("next", 2, nil, main(8))
	admitted := make(chan error, 1)
	go func() { admitted <- w.kubelet.Admit(context.Background(), next) }()
	time.Sleep(100 * time.Millisecond) // kubelet knows the end of a pod before the plugin does
	w.endPod(vae)
	require.NoError(t, <-admitted)
	require.NotEmpty(t, intersection(held, ids(next)))
}

// After a reboot without a checkpoint, kubelet allocates for the same pods again. The API server still reports their
// containers as running for a while.
func TestCheckpointLost_RebootedPodsGetTheirDevicesAgain(t *testing.T) {
	w := newHarness(t, "emulated:1x10GiB")
	before := [][]string{w.startRunning("vae", 1, 4), w.startRunning("lstm", 2, 4)}
	w.stopPlugin()
	w.boot = "second"
	w.kubelet.RemoveAll()
	w.startPlugin("emulated:1x10GiB")
	for i, name := range []string{"vae", "lstm"} {
		again := &kubelettest.Pod{Namespace: "ns", Name: name, Containers: []*kubelettest.Container{{Name: "main", Units: 4}}}
		w.runPod(again)
		require.ElementsMatch(t, before[i], ids(again), name)
	}
}

func TestCheckpointLost_StoppedContainerKeepsNewcomersOut(t *testing.T) {
	w := newHarness(t, "emulated:1x10GiB")
	w.startRunning("vae", 1, 8)
	w.loseCheckpoint()
	w.setRunning("vae", false) // it has crashed, and kubelet cannot start it without its devices
	newcomer := w.bindPod("newcomer", 2, nil, pods.Container{Name: "main", Units: 8})
	require.ErrorContains(t, w.kubelet.Admit(t.Context(), newcomer), "that pod keeps its memory")
}

// Kubelet never lists the devices of init containers. A container after them shares the devices, or none does.
func TestCheckpointLost_InitContainerKeepsItsDevices(t *testing.T) {
	prepare := pods.Container{Name: "prepare", Units: 8, Init: true}
	for name, containers := range map[string][]pods.Container{
		"with another container": {prepare, main(4)},
		"alone":                  {prepare},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, "emulated:1x10GiB")
			pod := w.bindPod("vae", 1, nil, containers...)
			require.NoError(t, w.kubelet.Admit(t.Context(), pod))
			require.NoError(t, w.kubelet.StartContainer(t.Context(), pod.Containers[0]))
			w.setRunning("vae", true)
			held := slices.Clone(pod.Containers[0].IDs)
			w.loseCheckpoint()
			small := w.bindPod("small", 2, nil, main(2))
			w.runPod(small)
			require.Empty(t, intersection(held, ids(small)))
			large := w.bindPod("large", 3, nil, main(8))
			require.ErrorContains(t, w.kubelet.Admit(t.Context(), large), "kubelet has forgotten that pod ns/vae")
		})
	}
}
