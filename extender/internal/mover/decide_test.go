package mover_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/mover"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/placement"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// harness is two nodes with one GPU. Two jobs with 500 GPU-seconds left share that of node a: one should move to node b.
type harness struct {
	*clustertest.Cluster
	scheduler *scheduler.Scheduler
	mover     *mover.Mover
	pods      []*corev1.Pod
	samples   []bus.Sample
}

func newHarness(t *testing.T, mode mover.Mode) *harness {
	w := &harness{Cluster: clustertest.New(t)}
	w.ready("a")
	w.ready("b")
	for _, name := range []string{"p", "q"} {
		w.job(name, "a", 4)
	}
	w.scheduler = w.Scheduler(w.Cache)
	w.start(mode)
	return w
}

// start starts a mover, in place of the one before.
func (w *harness) start(mode mover.Mode) {
	w.mover = &mover.Mover{
		Client:      w.Client,
		Bus:         w.Bus,
		Cluster:     w.Cache,
		Unfit:       w.scheduler.Unfit,
		Memory:      w.scheduler,
		Limits:      move.DefaultLimits(),
		Log:         slog.New(slog.DiscardHandler),
		Mode:        mode,
		Policy:      placement.MarginalGrowth{},
		Protected:   func(...*corev1.Pod) string { return "" },
		SharedPaths: []string{"/mnt/shared"},
		Ended:       func(move.State, time.Duration) {},
	}
}

// ready creates a node that takes pods.
func (w *harness) ready(name string) {
	w.Node(name, 16)
	n, err := w.Client.CoreV1().Nodes().Get(w.T.Context(), name, metav1.GetOptions{})
	require.NoError(w.T, err)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	_, err = w.Client.CoreV1().Nodes().UpdateStatus(w.T.Context(), n, metav1.UpdateOptions{})
	require.NoError(w.T, err)
}

// job creates a pod that runs on a node, with its allocation and its sample.
func (w *harness) job(name string, on growth.NodeName, memory growth.MiB) {
	pod := clustertest.Pod(name, "4Gi", 4)
	pod.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
	pod.Annotations[gpushare.GPUAnnotation] = string(on) + "-a"
	pod.Spec.NodeName = string(on)
	pod.Spec.Volumes = []corev1.Volume{{
		Name: "shared", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/mnt/shared/jobs"}},
	}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "shared", MountPath: "/checkpoints"}}
	pod.Status.Phase = corev1.PodRunning
	pod = w.Create(pod)
	ref := clustertest.Ref(pod)
	gpus := []growth.GPUShare{{GPU: growth.GPU(on) + "-a", Memory: memory * growth.GiB}}
	clustertest.Record(w.Cluster, bus.AllocationKey(on, ref.UID), bus.Allocation{
		Pod: ref, Containers: []bus.ContainerAllocation{{Name: "c0", GPUs: gpus}},
	})
	left := remaining.Exact(500)
	left.Unit = growth.GPUSecond
	w.pods = append(w.pods, pod)
	w.samples = append(w.samples, bus.Sample{
		Pod:        ref,
		Node:       on,
		Reported:   true,
		Category:   growth.Converged,
		ETA:        &bus.ETA{Remaining: left},
		Usable:     growth.Core,
		Checkpoint: &bus.Checkpoint{Path: "/checkpoints/" + name + ".pt"},
	})
}

// publish writes the samples, as the coordinator does every few seconds.
func (w *harness) publish() {
	for _, s := range w.samples {
		clustertest.Record(w.Cluster, bus.SampleKey(s.Pod.UID), s)
	}
	w.Settle()
}

func (w *harness) moves() (all []move.Record) {
	entries, _, err := w.Bus.List(w.T.Context(), bus.Moves)
	require.NoError(w.T, err)
	for _, entry := range entries {
		record, err := bus.Decode[bus.Move](entry.Value)
		require.NoError(w.T, err)
		all = append(all, record.Move)
	}
	return all
}

func (w *harness) events() string {
	list, err := w.Client.CoreV1().Events("default").List(w.T.Context(), metav1.ListOptions{})
	require.NoError(w.T, err)
	var all []string
	for _, e := range list.Items {
		all = append(all, e.InvolvedObject.Name+": "+e.Reason+": "+e.Message)
	}
	return strings.Join(all, "\n")
}

const because = "the jobs of both nodes end 16m10s earlier in total. The move takes about 30s (assumed: no move of its program was measured), " +
	"and has to gain 3 times that"

func TestMover_MovesWithoutRequest(t *testing.T) {
	tests := map[string]struct {
		mode   mover.Mode
		change func(w *harness)
		stays  bool
		event  string
	}{
		"all is known": {
			change: func(*harness) {},
			event:  "p: MoveBegan: The job moves from node a to b. It saves first. The reason is: " + because,
		},
		"the jobs ask by their limits alone": {
			change: func(w *harness) {
				w.edit("q", byLimits)
				w.edit("p", func(p *corev1.Pod) {
					byLimits(p)
					p.Annotations[gpushare.PriorityAnnotation] = "1"
				})
			},
			event: "p: MoveBegan: The job moves from node a to b. It saves first. The reason is: " + because,
		},
		"moves are made on request only": {mode: mover.Requested, change: func(*harness) {}, stays: true},
		"a dry run": {
			mode: mover.DryRun, change: func(*harness) {}, stays: true,
			event: "p: WouldMove: The job would move from node a to b if moves were automatic. The reason is: " + because,
		},
		"one job has no sample": {change: func(w *harness) {
			require.NoError(w.T, w.Bus.Delete(w.T.Context(), bus.SampleKey("q-uid")))
		}, stays: true},
		"the samples are stale":     {change: func(*harness) { time.Sleep(4 * time.Minute) }, stays: true},
		"a sample of another node":  {change: change(func(s *bus.Sample) { s.Node = "b" }), stays: true},
		"a poisoned sample":         {change: change(func(s *bus.Sample) { s.ETA.Remaining.Likely = 1e300 }), stays: true},
		"an unreadable sample":      {change: func(w *harness) { w.Put(bus.SampleKey("q-uid"), []byte("{")) }, stays: true},
		"a paused job":              {change: change(func(s *bus.Sample) { s.Paused = bus.PauseComplete }), stays: true},
		"no checkpoint was saved":   {change: change(func(s *bus.Sample) { s.Checkpoint = nil }), stays: true},
		"a checkpoint on no volume": {change: change(func(s *bus.Sample) { s.Checkpoint.Path = "/tmp/job.pt" }), stays: true},
		"a path of the node alone":  {change: func(w *harness) { w.mover.SharedPaths = nil }, stays: true},
		"the target is cordoned":    {change: func(w *harness) { w.cordon("b") }, stays: true},
		"a disruption budget":       {change: func(w *harness) { w.mover.Protected = func(...*corev1.Pod) string { return "default/all" } }, stays: true},
		"a job from or to it moves": {change: func(w *harness) {
			clustertest.Record(w.Cluster, bus.MoveKey("x"), bus.Move{Move: move.Record{
				ID: "move-x", Old: "x", From: "c", To: "b", State: move.Evicted, Since: time.Now(), Began: time.Now(),
				Next: move.Successor{Namespace: "default", Owner: "o"}, Checkpoint: &move.Checkpoint{},
			}})
		}, stays: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if test.mode == "" {
					test.mode = mover.Automatic
				}
				w := newHarness(t, test.mode)
				w.publish()
				test.change(w)
				w.Settle()
				before := len(w.moves())
				require.NoError(t, w.mover.Pass(t.Context(), time.Now()))
				if test.event != "" {
					require.Contains(t, w.events(), test.event)
				}
				if test.stays {
					require.Len(t, w.moves(), before, w.events())
					return
				}
				moves := w.moves()
				require.Len(t, moves, 1)
				require.Equal(t, growth.NodeName("b"), moves[0].To)
				require.Equal(t, move.Faster, moves[0].Cause)
				require.Equal(t, because, moves[0].Because)
			})
		})
	}
}

// A ReadWriteMany claim is not enough: its volume must be one that the target can mount.
func TestMover_MovesClaimsWithoutRequest(t *testing.T) {
	folder := &corev1.HostPathVolumeSource{Path: "/data"}
	tests := map[string]struct {
		volume corev1.PersistentVolumeSpec
		gone   bool // the claim is
		moves  int
	}{
		"a volume for all nodes":  {moves: 1},
		"a volume for both nodes": {volume: onNodes("a", "b"), moves: 1},
		"a volume for the node":   {volume: onNodes("a")},
		"a folder of the node": {
			volume: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: folder}},
		},
		"none": {gone: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, mover.Automatic)
				if !test.gone {
					w.claim(corev1.ReadWriteMany, test.volume)
				}
				w.saveOnClaim("p")
				w.saveOnClaim("q")
				w.publish()
				require.NoError(t, w.mover.Pass(t.Context(), time.Now()))
				require.Len(t, w.moves(), test.moves, w.events())
			})
		})
	}
}

// change changes the samples of all jobs.
func change(one func(*bus.Sample)) func(*harness) {
	return func(w *harness) {
		for i := range w.samples {
			one(&w.samples[i])
		}
		w.publish()
	}
}

func (w *harness) cordon(name string) {
	n, err := w.Client.CoreV1().Nodes().Get(w.T.Context(), name, metav1.GetOptions{})
	require.NoError(w.T, err)
	n.Spec.Unschedulable = true
	_, err = w.Client.CoreV1().Nodes().Update(w.T.Context(), n, metav1.UpdateOptions{})
	require.NoError(w.T, err)
}

// A pod of 14 GiB is pending: both nodes have 12 GiB free or less. A job of unknown size moves for it, once.
func TestMover_MakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, mover.Automatic)
		w.job("r", "b", 4)
		require.NoError(t, w.Client.CoreV1().Pods("default").Delete(t.Context(), "q", metav1.DeleteOptions{}))
		require.NoError(t, w.Bus.Delete(t.Context(), bus.AllocationKey("a", "q-uid")))
		w.samples = append(w.samples[:1], w.samples[2:]...)
		for i := range w.samples {
			w.samples[i].ETA = nil
		}
		big := clustertest.Pod("big", "14Gi", 14)
		big.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Minute))
		w.Create(big)
		w.publish()
		require.NoError(t, w.mover.Pass(t.Context(), time.Now()))
		moves := w.moves()
		require.Len(t, moves, 1, w.events())
		require.Equal(t, move.Room, moves[0].Cause)
		require.Equal(t, growth.PodUID("big-uid"), moves[0].For)
		require.Contains(t, moves[0].Because, "pod default/big fits no node")
	})
}

// A job moves twice at most, however often its controller has recreated its pod since.
func TestMover_MovesAJobTwice(t *testing.T) {
	for name, test := range map[string]struct {
		count int
		moves int
	}{"once before": {1, 1}, "twice before": {2, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, mover.Automatic)
				for _, name := range []string{"p", "q"} {
					clustertest.Record(w.Cluster, bus.MovedKey("owner-of-"+name), bus.MovedJob{
						Written: time.Now(), History: move.History{Count: test.count},
					})
					pod := w.Get(clustertest.Pod(name, ""))
					yes := true
					pod.OwnerReferences = []metav1.OwnerReference{{UID: "owner-of-" + pod.UID[:1], Controller: &yes, Kind: "Job", Name: name}}
					w.Update(pod)
				}
				w.publish()
				require.NoError(t, w.mover.Pass(t.Context(), time.Now()))
				require.Len(t, w.moves(), test.moves, w.events())
			})
		})
	}
}
