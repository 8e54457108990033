package mover

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// volume returns why other pods cannot read the checkpoint of a job while it runs, or "". A move without a request needs that, in
// addition to what all moves need (checkpointUnavailable).
func (c *checks) volume(ctx context.Context, pod *corev1.Pod, checkpoint string, sharedPaths []string) (string, error) {
	if checkpoint == "" {
		return "it has not saved a checkpoint yet", nil
	}
	v := volumeAt(pod, checkpoint)
	switch {
	case gpushare.IsURL(checkpoint), sharedByUser(pod, v):
		return "", nil
	case v == nil:
		return onNone(checkpoint), nil
	case v.PersistentVolumeClaim == nil:
		return inlineUnavailable(v, sharedPaths), nil
	}
	name := v.PersistentVolumeClaim.ClaimName
	b, err := c.bound(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: name})
	if err != nil {
		return unverifiable(name, err)
	}
	if !writtenByMany(b.claim) {
		return fmt.Sprintf("its checkpoint is on the claim %s, which is not ReadWriteMany", name), nil
	}
	return "", nil
}

func onNone(checkpoint string) string {
	return fmt.Sprintf("its checkpoint %.200s is on no volume", checkpoint)
}

// inlineUnavailable returns why other nodes cannot read a volume that is no claim, or "".
func inlineUnavailable(v *corev1.Volume, sharedPaths []string) string {
	switch {
	case v.NFS != nil, v.CephFS != nil, v.AzureFile != nil:
		return ""
	case v.HostPath == nil:
		return fmt.Sprintf("its checkpoint is on volume %s, which other nodes cannot mount", v.Name)
	case !shared(v.HostPath.Path, sharedPaths):
		return fmt.Sprintf("its checkpoint is below %.200s of its node, and --shared-host-paths does not name it", v.HostPath.Path)
	}
	return ""
}

// shared reports whether a folder is the same on all nodes.
func shared(folder string, sharedPaths []string) bool {
	return slices.ContainsFunc(sharedPaths, func(s string) bool { return within(folder, s) })
}

func writtenByMany(claim *corev1.PersistentVolumeClaim) bool {
	return slices.Contains(claim.Status.AccessModes, corev1.ReadWriteMany)
}

// volumeAt returns the volume that a path in a container is on, nil if there is none.
func volumeAt(pod *corev1.Pod, file string) *corev1.Volume {
	name, longest := "", -1
	for _, container := range pod.Spec.Containers {
		for _, mount := range container.VolumeMounts {
			if within(file, mount.MountPath) && len(mount.MountPath) > longest {
				name, longest = mount.Name, len(mount.MountPath)
			}
		}
	}
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Name == name {
			return &pod.Spec.Volumes[i]
		}
	}
	return nil
}

// within reports whether a path is a folder or below it.
func within(file, folder string) bool {
	file, folder = path.Clean(file), path.Clean(folder)
	return file == folder || strings.HasPrefix(file, strings.TrimSuffix(folder, "/")+"/")
}
