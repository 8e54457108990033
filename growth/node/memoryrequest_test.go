package node_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/peaks"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// sized adds a job with a memory request of 1 GiB that uses 7 MiB, and the tuner's advice to request 256 MiB.
func sized(w *harness, tune string) growth.PodUID {
	uid := ref("sized").UID
	w.advice[uid] = bus.Advice{Resources: &peaks.Recommendation{
		Memory: &peaks.Request{Request: 256, Low: 7, Likely: 8, High: 200},
		Reason: "what the job has used so far",
	}}
	w.apply(node.Pod{
		Ref:         ref("sized"),
		Running:     true,
		Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.TuneAnnotation: tune},
		Containers:  []node.Container{{Name: "train", Request: 500}},
		Memory:      node.PodMemory{Container: "train", Request: 1024, Limit: 4096, Allocated: 1024},
	})
	w.allocate("sized")
	w.step(node.AdviceChanged{Advice: w.advice})
	return uid
}

// eventsOf returns the events with a reason.
func (w *harness) eventsOf(reason string) (events []string) {
	for _, e := range w.events {
		if strings.Contains(e, " "+reason+":") {
			events = append(events, e)
		}
	}
	return events
}

func (w *harness) setMemory(uid growth.PodUID, change func(*node.Pod)) {
	pod, _ := w.pod(uid)
	change(&pod)
	w.apply(pod)
}

func TestMemory_IsRecommendedOnce(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		sized(w, "cpu")
		w.pass(3 * time.Hour)
		require.Empty(t, w.memoryResized, "the user does not list resources")
		require.Equal(t, []string{"sized ResourcesRecommended: memory: 1GiB requested, 256MiB recommended (peak, 80 %: 7MiB to 200MiB). " +
			"This follows from what the job has used so far. With resources in gpushare/tune Trellis changes the memory request while the job runs"},
			w.eventsOf("ResourcesRecommended"))
	})
}

func TestMemory_IsChangedInPlace(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		uid := sized(w, "resources")
		w.pass(2 * time.Minute)
		require.Equal(t, []node.MemoryResize{{
			Pod: w.pods[uid].Ref, Container: "train", From: 1024, To: 256, Original: "train=1024Mi",
		}}, w.memoryResized)
		w.step(node.MemoryResized{Resize: w.memoryResized[0]})
		w.setMemory(uid, func(p *node.Pod) {
			p.Memory.Request, p.Memory.Allocated, p.Memory.ResizedBy = 256, 256, gpushare.FieldManager
			p.Annotations[gpushare.MemoryRequestAnnotation] = "train=1024Mi"
		})
		w.pass(time.Minute)
		require.Equal(t, []string{"sized MemoryRequestChanged: Memory request: 1GiB → 256MiB, applied by kubelet. The largest use so far is 7MiB; " +
			"8MiB is expected (80 %: 7MiB to 200MiB). The limit is not changed"}, w.eventsOf("MemoryRequestChanged"))
		w.pass(time.Hour)
		require.Len(t, w.memoryResized, 1, "the request stays")
	})
}

func TestMemory_RespectsRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		result node.MemoryResized
		want   string
	}{
		"a quota": {
			node.MemoryResized{Result: node.ResizeOverQuota, Quota: "compute", Err: "exceeded quota"},
			"sized MemoryResizeRefused: A memory request of 256MiB was refused; it stays 1GiB. Quota compute of namespace ns is used up: " +
				"raise its requests.memory, or let other pods of the namespace request less. exceeded quota",
		},
		"a LimitRange": {
			node.MemoryResized{Result: node.ResizeRejected, Err: "minimum memory usage per Container is 512Mi"},
			"sized MemoryResizeRefused: A memory request of 256MiB was refused; it stays 1GiB. The API server: minimum memory usage per Container is 512Mi",
		},
		"another writer": {
			node.MemoryResized{Result: node.ResizeConflict, Err: "vpa-updater has changed it to 700MiB meanwhile"},
			"sized MemoryNotTuned: The memory request of this job is left alone: vpa-updater has changed it to 700MiB meanwhile, and two writers would " +
				"undo each other's changes. To have it tuned, exclude its memory from the other controller. Tuning resumes an hour after the last change",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.Fair, func(t *testing.T, w *harness) {
				sized(w, "resources")
				w.pass(2 * time.Minute)
				require.Len(t, w.memoryResized, 1)
				tc.result.Resize = w.memoryResized[0]
				w.step(tc.result)
				require.Contains(t, w.events, tc.want)
				w.pass(50 * time.Second)
				require.Len(t, w.memoryResized, 1, "it is not tried again at once")
				w.pass(2 * time.Hour)
				require.Greater(t, len(w.memoryResized), 1, "it is tried again")
			})
		})
	}
}

func TestMemory_IsGivenBackIfKubeletDoesNotApplyIt(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		uid := sized(w, "resources")
		w.pass(2 * time.Minute)
		w.step(node.MemoryResized{Resize: w.memoryResized[0]})
		w.setMemory(uid, func(p *node.Pod) {
			p.Memory.Request, p.Memory.ResizedBy = 256, gpushare.FieldManager
			p.ResizeStatus = node.ResizeStatus{Reason: node.Infeasible, Message: "not possible"}
		})
		w.pass(20 * time.Second)
		require.Len(t, w.memoryResized, 2)
		require.Equal(t, growth.MiB(1024), w.memoryResized[1].To)
		require.Len(t, w.eventsOf("MemoryResizeRefused"), 1)
	})
}

func TestMemory_GivesWayToAnotherWriter(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		uid := sized(w, "resources")
		w.pass(20 * time.Second)
		w.setMemory(uid, func(p *node.Pod) {
			p.Memory.Request, p.Memory.Allocated, p.Memory.ResizedBy = 700, 700, "vpa-updater"
		})
		w.pass(50 * time.Minute)
		require.Empty(t, w.memoryResized)
		require.Len(t, w.eventsOf("MemoryNotTuned"), 1)
		w.pass(time.Hour)
		require.NotEmpty(t, w.memoryResized)
	})
}

func TestMemory_OfAPodThatCannotBeChanged(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		uid := sized(w, "resources")
		w.setMemory(uid, func(p *node.Pod) { p.Memory.Fixed = "it has several containers, whose memory is measured together" })
		w.pass(time.Hour)
		require.Empty(t, w.memoryResized)
		require.Equal(t, []string{"sized MemoryNotTuned: The memory request of this job is left alone: it has several containers, whose memory is " +
			"measured together"}, w.eventsOf("MemoryNotTuned"))
	})
}

// A coordinator that writes cgroups resizes no pods.
func TestMemory_IsNotTunedByCgroup(t *testing.T) {
	w := newHarness(t)
	w.config.DirectWeights = true
	w.start(policy.Fair)
	sized(w, "cpu,resources")
	w.pass(3 * time.Hour)
	require.Empty(t, w.memoryResized)
	require.Equal(t, 1, w.eventCount("sized MemoryNotTuned: The memory request of this job is left alone: the coordinator of this cluster changes weights"))
	require.Zero(t, w.eventCount("With resources in gpushare/tune"))
}
