package mover

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// boundClaim is a claim and its volume.
type boundClaim struct {
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume
}

func (c *checks) bound(ctx context.Context, name types.NamespacedName) (boundClaim, error) {
	if b, known := c.claims[name]; known {
		return b, nil
	}
	claim, err := c.client.CoreV1().PersistentVolumeClaims(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		return boundClaim{}, err
	}
	volume, err := c.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return boundClaim{}, err
	}
	if c.claims == nil {
		c.claims = map[types.NamespacedName]boundClaim{}
	}
	c.claims[name] = boundClaim{claim, volume}
	return c.claims[name], nil
}

// claimUnavailable returns why the volume of a claim cannot be mounted on the target once the old pod is gone, or "".
func (c *checks) claimUnavailable(ctx context.Context, p movingPod, name string, sharedPaths []string) (string, error) {
	its := "its checkpoint is on the claim " + name
	b, err := c.bound(ctx, types.NamespacedName{Namespace: p.pod.Namespace, Name: name})
	if err != nil {
		return "", err
	}
	if h := b.volume.Spec.HostPath; h != nil && !shared(h.Path, sharedPaths) {
		return fmt.Sprintf("%s, a folder of its node that --shared-host-paths does not name: %.200s", its, h.Path), nil
	}
	if ok, err := c.mountable(ctx, b.volume, p); !ok || err != nil {
		return fmt.Sprintf("%s, whose volume cannot be mounted on %s", its, destination(p.to)), err
	}
	if writtenByMany(b.claim) {
		return "", nil
	}
	other, err := c.user(ctx, p.pod, name)
	if other == "" || err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, which is not ReadWriteMany, and pod %s uses it too", its, other), nil
}

// mountable reports whether a volume can be mounted on the target, as far as its node affinity says so.
func (c *checks) mountable(ctx context.Context, volume *corev1.PersistentVolume, p movingPod) (bool, error) {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return true, nil
	}
	terms := volume.Spec.NodeAffinity.Required.NodeSelectorTerms
	if p.to != "" {
		n, err := c.client.CoreV1().Nodes().Get(ctx, string(p.to), metav1.GetOptions{ResourceVersion: "0"})
		return err == nil && anyOf(terms, n), err
	}
	list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Items, func(n corev1.Node) bool { return n.Name != p.pod.Spec.NodeName && anyOf(terms, &n) }), nil
}

// unverifiable returns why a claim cannot be checked, if the error does not pass by itself.
func unverifiable(claim string, err error) (string, error) {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return fmt.Sprintf("its checkpoint is on the claim %s, and whether the target can mount that is not known: %s", claim, err), nil
	}
	return "", err
}

// user returns another pod that uses a claim, or "".
func (c *checks) user(ctx context.Context, pod *corev1.Pod, claim string) (string, error) {
	list, err := c.client.CoreV1().Pods(pod.Namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return "", err
	}
	for i := range list.Items {
		other := &list.Items[i]
		uses := slices.ContainsFunc(other.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
		})
		if uses && other.UID != pod.UID && !ended(other) {
			return other.Name, nil
		}
	}
	return "", nil
}
