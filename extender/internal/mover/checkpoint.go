package mover

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// remedy is what a user does whose job is not moved because of the volume of its checkpoint.
const remedy = "Let it save on a volume that both nodes mount, such as a ReadWriteMany claim. If this one is, although Trellis cannot know " +
	"that, say so: " + gpushare.CheckpointVolumeAnnotation + "=shared"

// movingPod is a pod that moves to a node, and the path or URL of the checkpoint that its job has saved there. The path is empty if it is not
// known. The node is empty if any other one is as good, and that of the pod if it starts again there.
type movingPod struct {
	pod  *corev1.Pod
	path string
	to   growth.NodeName
}

// checkpointUnavailable returns why the job of pods that move together would lose its checkpoint, or "". A pod without a volume at the
// path loses nothing if another one has it: not every rank has to read the checkpoint.
func (c *checks) checkpointUnavailable(ctx context.Context, all []movingPod, sharedPaths []string) (string, error) {
	known := ""
	for _, p := range all {
		known = cmp.Or(known, p.path)
	}
	if known == "" {
		return "", nil
	}
	mounted := false
	for _, p := range all {
		path := cmp.Or(p.path, known)
		v := volumeAt(p.pod, path)
		if gpushare.IsURL(path) || sharedByUser(p.pod, v) {
			mounted = true
			continue
		}
		if v == nil {
			continue
		}
		mounted = true
		if why, err := c.volumeUnavailable(ctx, p, v, sharedPaths); why != "" || err != nil {
			return why, err
		}
	}
	if !mounted {
		return onNone(known), nil
	}
	return "", nil
}

// sharedByUser reports whether the user says that all nodes read the same files at the path of the checkpoint. A volume that is
// deleted with its pod is not shared, although the user says so. v is nil for a path on no volume.
func sharedByUser(pod *corev1.Pod, v *corev1.Volume) bool {
	spec, err := request.Spec(pod)
	return err == nil && spec.CheckpointShared && (v == nil || v.EmptyDir == nil && v.Ephemeral == nil)
}

// volumeUnavailable returns why a volume stays behind when its pod moves, or "".
func (c *checks) volumeUnavailable(ctx context.Context, p movingPod, v *corev1.Volume, sharedPaths []string) (string, error) {
	again := string(p.to) == p.pod.Spec.NodeName
	switch {
	case v.EmptyDir != nil, v.Ephemeral != nil:
		return fmt.Sprintf("its checkpoint is on volume %s, which is deleted with pod %s", v.Name, p.pod.Name), nil
	case again && (v.HostPath != nil || v.PersistentVolumeClaim != nil):
		return "", nil
	case v.PersistentVolumeClaim != nil:
		name := v.PersistentVolumeClaim.ClaimName
		why, err := c.claimUnavailable(ctx, p, name, sharedPaths)
		if err != nil {
			return unverifiable(name, err)
		}
		return why, nil
	}
	why := inlineUnavailable(v, sharedPaths)
	if why != "" && again {
		why = fmt.Sprintf("its checkpoint is on volume %s, which may be deleted with pod %s", v.Name, p.pod.Name)
	}
	return why, nil
}

// refusalByCheckpoint returns why a move that begins would lose the checkpoint, or "", as far as its path is known.
func (m *Mover) refusalByCheckpoint(ctx context.Context, check *checks, all []movingPod) (string, error) {
	for i := range all {
		path, err := m.pathOf(ctx, all[i].pod)
		if err != nil {
			return "", err
		}
		all[i].path = path
	}
	why, err := check.checkpointUnavailable(ctx, all, m.SharedPaths)
	if why == "" || err != nil {
		return "", err
	}
	return "The job is not moved, because it would start over: " + why + ". " + remedy, nil
}

// savedCheckpointUnavailable returns why a job would lose the checkpoint that it has saved for its move, or "". It asks the API server
// only once all pods have saved: a pass looks at each move five times a second.
func (m *Mover) savedCheckpointUnavailable(ctx context.Context, group []tracked, all []seen) (string, error) {
	var moving []movingPod
	for i, t := range group {
		if all[i].old == nil || t.record.Move.State != move.Saving {
			continue
		}
		saved := all[i].Checkpoint
		if saved == nil {
			return "", nil
		}
		moving = append(moving, movingPod{pod: all[i].old, path: saved.Path, to: t.record.Move.To})
	}
	why, err := (&checks{client: m.Client}).checkpointUnavailable(ctx, moving, m.SharedPaths)
	if why == "" || err != nil {
		return "", err
	}
	return "the job would start over: " + why + ". " + remedy, nil
}
