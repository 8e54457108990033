package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/extender/internal/upstreamtest"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// TestExtender_BindsPodsWithLateVolumes creates two nodes with a local volume each, and two pods whose claims wait for their first
// consumer. kube-scheduler binds the volume of the chosen node, then the extender binds the pod.
func TestExtender_BindsPodsWithLateVolumes(t *testing.T) {
	plane, c, ended := start(t, 2, gpushare.Resource, nil)
	plane.Controllers(t, "persistentvolume-binder-controller")
	late := storagev1.VolumeBindingWaitForFirstConsumer
	_, err := plane.Client.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: "local"},
		Provisioner:       "kubernetes.io/no-provisioner",
		VolumeBindingMode: &late,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, node := range []string{"node-0", "node-1"} {
		createVolume(t, plane, node)
	}
	volumes := map[string]string{}
	for _, name := range []string{"first", "second"} {
		createWithClaim(t, plane, name)
		require.Eventually(t, func() bool {
			pod, err := plane.Client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err)
			claim, err := plane.Client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err)
			volumes[pod.Spec.NodeName] = claim.Spec.VolumeName
			return pod.Spec.NodeName != "" && pod.Annotations[gpushare.GPUAnnotation] != "" && claim.Status.Phase == corev1.ClaimBound
		}, time.Minute, 50*time.Millisecond, "pod %s is bound with its volume", name)
	}
	delete(volumes, "") // while a pod waited
	require.Equal(t, map[string]string{"node-0": "volume-node-0", "node-1": "volume-node-1"}, volumes, "each volume is on the node of its pod")
	requireDrain(t, c, ended)
}

// createVolume creates a volume that only one node can mount.
func createVolume(t *testing.T, plane *upstreamtest.Plane, node string) {
	t.Helper()
	label := []byte(`{"metadata": {"labels": {"kubernetes.io/hostname": "` + node + `"}}}`)
	_, err := plane.Client.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, label, metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = plane.Client.CoreV1().PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "volume-" + node},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName:       "local",
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
				},
			}}}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// createWithClaim creates a claim and a pod of the same name that asks for a share.
func createWithClaim(t *testing.T, plane *upstreamtest.Plane, name string) {
	t.Helper()
	class := "local"
	_, err := plane.Client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("500Mi")},
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	pod := trainer(name, 1)
	pod.Annotations = map[string]string{gpushare.MemoryAnnotation: "1Gi"}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}}
	_, err = plane.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
}
