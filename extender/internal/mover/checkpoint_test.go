package mover_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

const remedy = ". Let it save on a volume that both nodes mount, such as a ReadWriteMany claim. " +
	"If this one is, although Trellis cannot know that, say so: gpushare/checkpoint-volume=shared"

// A request is refused if the job would not find on the target what it saves.
func TestMover_RefusesToLeaveACheckpointBehind(t *testing.T) {
	refusals{
		"a folder that is the same on all nodes": {change: func(*gangHarness) {}},
		"a folder of its node": {
			change: func(w *gangHarness) { w.mover.SharedPaths = []string{"/mnt/other"} },
			why:    "its checkpoint is below /mnt/shared/jobs of its node, and --shared-host-paths does not name it",
		},
		"a volume of the pod": {
			change: func(w *gangHarness) { w.saveOn("p", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}) },
			why:    "its checkpoint is on volume shared, which is deleted with pod p",
		},
		"a claim of the pod": {
			change: func(w *gangHarness) { w.saveOn("p", corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}) },
			why:    "its checkpoint is on volume shared, which is deleted with pod p",
		},
		"NFS": {change: func(w *gangHarness) { w.saveOn("p", corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}}) }},
		"no volume": {
			change: func(w *gangHarness) { w.edit("p", func(p *corev1.Pod) { p.Spec.Containers[0].VolumeMounts = nil }) },
			why:    "its checkpoint /checkpoints/p.pt is on no volume",
		},
		"no volume, but its user says that all nodes read it": {change: func(w *gangHarness) {
			w.edit("p", func(p *corev1.Pod) {
				p.Spec.Containers[0].VolumeMounts = nil
				p.Annotations[gpushare.CheckpointVolumeAnnotation] = "shared"
			})
		}},
		"an inline CSI volume": {
			change: func(w *gangHarness) {
				w.saveOn("p", corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "bucket"}})
			},
			why: "its checkpoint is on volume shared, which other nodes cannot mount",
		},
		"an inline CSI volume, but its user says that all nodes read it": {change: func(w *gangHarness) {
			w.saveOn("p", corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "bucket"}})
			w.edit("p", func(p *corev1.Pod) { p.Annotations[gpushare.CheckpointVolumeAnnotation] = "shared" })
		}},
		"a volume of the pod, although its user says that all nodes read it": {
			change: func(w *gangHarness) {
				w.saveOn("p", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
				w.edit("p", func(p *corev1.Pod) { p.Annotations[gpushare.CheckpointVolumeAnnotation] = "shared" })
			},
			why: "its checkpoint is on volume shared, which is deleted with pod p",
		},
		"an object store": {change: func(w *gangHarness) {
			w.samples[0].Checkpoint.Path = "s3://bucket/p.pt"
			w.edit("p", func(p *corev1.Pod) { p.Spec.Containers[0].VolumeMounts = nil })
		}},
		"a URL of a file": {
			change: func(w *gangHarness) { w.samples[0].Checkpoint.Path = "file:///checkpoints/p.pt" },
			why:    "its checkpoint file:///checkpoints/p.pt is on no volume",
		},
		"nothing was saved yet": {change: func(w *gangHarness) {
			w.samples[0].Checkpoint = nil
			w.saveOn("p", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
		}},
		"nothing was saved yet, but the path is known": {
			change: func(w *gangHarness) {
				w.samples[0].Checkpoint = nil
				w.saveOn("p", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
				w.edit("p", func(p *corev1.Pod) {
					p.Annotations[gpushare.CheckpointAnnotation] = "signal:SIGUSR1"
					p.Annotations[gpushare.CheckpointPathAnnotation] = "/checkpoints/job.pt"
				})
			},
			why: "its checkpoint is on volume shared, which is deleted with pod p",
		},
	}.run(t)
}

// A claim is mounted on the target once the old pod is gone, if its volume can be.
func TestMover_MovesClaims(t *testing.T) {
	refusals{
		"a claim for many nodes": {change: func(w *gangHarness) {
			w.claim(corev1.ReadWriteMany, corev1.PersistentVolumeSpec{})
			w.saveOnClaim("q")
		}},
		"a claim for one node at a time": {change: func(w *gangHarness) { w.claim(corev1.ReadWriteOnce, corev1.PersistentVolumeSpec{}) }},
		"a claim for one node, which another pod uses": {
			change: func(w *gangHarness) {
				w.claim(corev1.ReadWriteOnce, corev1.PersistentVolumeSpec{})
				w.saveOnClaim("q")
			},
			why: "its checkpoint is on the claim data, which is not ReadWriteMany, and pod q uses it too",
		},
		"a disk of its node": {
			change: func(w *gangHarness) { w.claim(corev1.ReadWriteOnce, onNodes("a", "c")) },
			why:    "its checkpoint is on the claim data, whose volume cannot be mounted on node b",
		},
		"a disk of its node, to any other": {
			change: func(w *gangHarness) { w.claim(corev1.ReadWriteOnce, onNodes("a")) }, to: gpushare.MoveAnywhere,
			why: "its checkpoint is on the claim data, whose volume cannot be mounted on any other node",
		},
		"a disk of some nodes, to any other": {
			change: func(w *gangHarness) { w.claim(corev1.ReadWriteOnce, onNodes("a", "c")) }, to: gpushare.MoveAnywhere,
		},
		"a volume that is a folder of its node": {
			change: func(w *gangHarness) {
				w.claim(corev1.ReadWriteMany, corev1.PersistentVolumeSpec{
					PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}},
				})
			},
			why: "its checkpoint is on the claim data, a folder of its node that --shared-host-paths does not name: /data",
		},
		"a claim that is gone": {
			change: func(w *gangHarness) { w.saveOnClaim("p") },
			why: "its checkpoint is on the claim data, and whether the target can mount that is not known: " +
				`persistentvolumeclaims "data" not found`,
		},
		"a volume that is gone": {
			change: func(w *gangHarness) {
				w.claim(corev1.ReadWriteMany, corev1.PersistentVolumeSpec{})
				require.NoError(w.T, w.Client.CoreV1().PersistentVolumes().Delete(w.T.Context(), "volume", metav1.DeleteOptions{}))
			},
			why: "its checkpoint is on the claim data, and whether the target can mount that is not known: " +
				`persistentvolumes "volume" not found`,
		},
	}.run(t)
}

// refusals are requests to move pod p, by default to node b.
type refusals map[string]struct {
	change func(*gangHarness)
	to     string
	why    string // "" if the job moves
}

func (tests refusals) run(t *testing.T) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGangHarness(t)
				test.change(w)
				w.publish()
				if test.to == "" {
					test.to = "b"
				}
				w.asks("p", test.to)
				if test.why == "" {
					require.Len(t, w.moves(), 1, w.events())
					return
				}
				require.Empty(t, w.moves())
				require.Contains(t, w.events(), "p: MoveRefused: The job is not moved, because it would start over: "+test.why+remedy)
				require.False(t, w.annotated("p", gpushare.MoveAnnotation))
			})
		})
	}
}

// A job that names its checkpoint only when it has saved goes on where it is.
func TestMover_AbortsAMoveThatLeavesTheCheckpointBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGangHarness(t)
		w.saveOn("p", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
		w.asks("p", "b")
		w.saving("p-uid")
		w.answer("p", 40, "")
		w.pass(3)
		require.Equal(t, move.Aborted, w.moves()[0].State)
		require.Empty(t, w.evicted)
		require.Empty(t, w.Reservations("b"))
		for _, annotation := range []string{gpushare.SaveAnnotation, gpushare.PausedAnnotation, gpushare.MoveAnnotation} {
			require.False(t, w.annotated("p", annotation), annotation)
		}
		require.Contains(t, w.events(), "p: MoveAborted: The move of the job to b has ended early: the job would start over: "+
			"its checkpoint is on volume shared, which is deleted with pod p"+remedy)
	})
}

// Of a gang, the pods that mount the checkpoint decide, each by where it goes.
func TestMover_MovesTheCheckpointOfAGang(t *testing.T) {
	tests := map[string]struct {
		change func(*gangHarness)
		why    string // "" if the job moves
	}{
		"a pod that stays has a volume of its own": {
			change: func(w *gangHarness) { w.saveOn("g-1", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}) },
			why:    "its checkpoint is on volume shared, which is deleted with pod g-1",
		},
		"a pod that stays has a folder of its node": {change: func(w *gangHarness) {
			w.saveOn("g-1", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}})
		}},
		"a pod that stays has an inline volume of a driver": {
			change: func(w *gangHarness) {
				w.saveOn("g-1", corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "driver.example.org"}})
			},
			why: "its checkpoint is on volume shared, which may be deleted with pod g-1",
		},
		"a pod that leaves has an inline volume of a driver": {
			change: func(w *gangHarness) {
				w.saveOn("g-0", corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "driver.example.org"}})
			},
			why: "its checkpoint is on volume shared, which other nodes cannot mount",
		},
		"a pod that leaves has a folder of its node": {
			change: func(w *gangHarness) {
				w.saveOn("g-0", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}})
			},
			why: "its checkpoint is below /data of its node, and --shared-host-paths does not name it",
		},
		"a pod does not mount it": {change: func(w *gangHarness) {
			w.edit("g-1", func(p *corev1.Pod) { p.Spec.Containers[0].VolumeMounts = nil })
		}},
		"no pod mounts it": {
			change: func(w *gangHarness) {
				for _, name := range []string{"g-0", "g-1"} {
					w.edit(name, func(p *corev1.Pod) { p.Spec.Containers[0].VolumeMounts = nil })
				}
			},
			why: "its checkpoint /checkpoints/g.pt is on no volume",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGangHarness(t)
				test.change(w)
				w.ask("g-0", "c")
				w.pass(3)
				for _, rank := range []string{"g-1", "g-0"} {
					w.answer(rank, 40, "")
					w.pass(3)
				}
				require.Contains(t, w.Get(clustertest.Pod("g-0", "")).Annotations, gpushare.MovingAnnotation)
				if test.why == "" {
					require.Equal(t, both(move.Saved), w.states(), w.events())
					return
				}
				require.Equal(t, both(move.Aborted), w.states())
				require.Empty(t, w.evicted)
				require.Contains(t, w.events(), "g-1: MoveAborted: The move of the job has ended early, and all of its 2 pods run on: "+
					"the job would start over: "+test.why+remedy)
			})
		})
	}
}

// A pass looks at a move five times a second. What it reads about the checkpoint it reads once, after the last rank has saved.
func TestMover_ReadsTheVolumesOfAGangOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGangHarness(t)
		w.claim(corev1.ReadWriteMany, onNodes("a", "b", "c"))
		w.saveOnClaim("g-0")
		w.saveOnClaim("g-1")
		w.cordon("b") // both ranks leave
		w.ask("g-0", "c")
		w.pass(3)
		require.Equal(t, both(move.Saving), w.states(), w.events())
		w.Client.ClearActions()
		w.answer("g-1", 40, "")
		w.pass(10)
		require.Empty(t, w.reads("persistentvolumeclaims", "persistentvolumes", "nodes"), "g-0 has not saved")
		w.answer("g-0", 40, "")
		w.pass(3)
		require.Equal(t, both(move.Saved), w.states(), w.events())
		require.Equal(t, []string{"get persistentvolumeclaims", "get persistentvolumes", "get nodes", "get nodes"},
			w.reads("persistentvolumeclaims", "persistentvolumes", "nodes"))
	})
}

// reads are the requests for objects of some kinds since the last ClearActions.
func (w *gangHarness) reads(kinds ...string) (all []string) {
	for _, action := range w.Client.Actions() {
		if kind := action.GetResource().Resource; slices.Contains(kinds, kind) {
			all = append(all, action.GetVerb()+" "+kind)
		}
	}
	return all
}

// saveOn changes the volume of a pod's checkpoint.
func (w *harness) saveOn(pod string, source corev1.VolumeSource) {
	w.edit(pod, func(p *corev1.Pod) { p.Spec.Volumes[0].VolumeSource = source })
}

// saveOnClaim lets a pod save on the claim data.
func (w *harness) saveOnClaim(pod string) {
	w.saveOn(pod, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}})
}

// claim creates the claim data with its volume, on which pod p saves.
func (w *harness) claim(mode corev1.PersistentVolumeAccessMode, spec corev1.PersistentVolumeSpec) {
	_, err := w.Client.CoreV1().PersistentVolumeClaims("default").Create(w.T.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "volume"},
		Status:     corev1.PersistentVolumeClaimStatus{AccessModes: []corev1.PersistentVolumeAccessMode{mode}},
	}, metav1.CreateOptions{})
	require.NoError(w.T, err)
	_, err = w.Client.CoreV1().PersistentVolumes().Create(w.T.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "volume"}, Spec: spec,
	}, metav1.CreateOptions{})
	require.NoError(w.T, err)
	w.saveOnClaim("p")
}

// onNodes is a volume that some nodes can mount.
func onNodes(names ...string) corev1.PersistentVolumeSpec {
	return corev1.PersistentVolumeSpec{NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: names},
		}}},
	}}}
}

// A gang is refused before it saves if the path is known.
func TestMover_RefusesAGangThatLeavesTheCheckpointBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGangHarness(t)
		w.mover.SharedPaths = nil
		for _, sample := range w.samples {
			if sample.Pod.Name == "g-1" { // the rank that saves
				clustertest.Record(w.Cluster, bus.SampleKey(sample.Pod.UID), sample)
			}
		}
		w.ask("g-0", "c")
		w.pass(1)
		require.Empty(t, w.moves())
		require.Contains(t, w.events(), "g-0: MoveRefused: The job is not moved, because it would start over: "+
			"its checkpoint is below /mnt/shared/jobs of its node, and --shared-host-paths does not name it"+remedy)
	})
}
