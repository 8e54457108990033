//go:build e2e && linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAdmission_OnARealNode installs Trellis on one node and runs pods with nothing but the annotation.
func TestAdmission_OnARealNode(t *testing.T) {
	t.Parallel()
	l := buildLocal(t)
	name := l.up("--nodes=1")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(l.try("kubectl", "--name="+name, "--", "get", "events", "--all-namespaces"))
		}
	})
	l.run("install", "--name="+name, "--gpus=emulated:2x24GiB")

	for platform, taint := range map[string]string{"GKE": "nvidia.com/gpu=present:NoSchedule", "AKS": "sku=gpu:NoSchedule"} {
		t.Run("a node with the taint of "+platform, func(t *testing.T) {
			l.kubectl(name, "taint", "node", "node-1", taint)
			t.Cleanup(func() { l.kubectl(name, "taint", "node", "node-1", taint+"-") })
			for _, set := range []string{"deviceplugin", "coordinator"} {
				l.kubectl(name, "rollout", "restart", "-n", "trellis", "daemonset/"+set)
				l.kubectl(name, "rollout", "status", "-n", "trellis", "daemonset/"+set, "--timeout=120s")
			}
			l.runs(name, "tainted", "echo on a tainted node", "")
		})
	}
	t.Run("the share decides how many threads are started", func(t *testing.T) {
		require.Equal(t, "OMP_NUM_THREADS=1", l.runs(name, "threads", "env | grep OMP_NUM_THREADS", ""))
	})
	t.Run("no pod makes all GPUs visible", func(t *testing.T) {
		out, err := l.tryApply(name, share("sees-all", "env", "    env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]"))
		require.Error(t, err)
		require.Contains(t, out, "container main sets NVIDIA_VISIBLE_DEVICES")
	})
	t.Run("a Job outlives refused pods and not a faulty program", func(t *testing.T) { l.jobsOutliveRefusals(t, name) })
	t.Run("a volume is bound on the node of the share", func(t *testing.T) {
		folder := t.TempDir()
		require.NoError(t, os.Chmod(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "data"), []byte("in the volume"), 0o644))
		l.apply(name, fmt.Sprintf(lateVolume, folder))
		require.Equal(t, "in the volume", l.runs(name, "with-volume", "cat /volume/data", "late"))
	})
}

// runs creates a pod with a share, waits until it has ended, and returns its output.
func (l local) runs(name, pod, command, claim string) string {
	l.t.Helper()
	manifest := share(pod, command, "")
	if claim != "" {
		manifest += "  - {name: volume, persistentVolumeClaim: {claimName: " + claim + "}}\n"
		manifest = strings.Replace(manifest, "volumeMounts:\n", "volumeMounts:\n    - {name: volume, mountPath: /volume}\n", 1)
	}
	l.apply(name, manifest)
	l.kubectl(name, "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/"+pod, "--timeout=120s")
	out := l.kubectl(name, "logs", pod)
	l.kubectl(name, "delete", "pod", pod)
	return out
}

func (l local) tryApply(name, manifest string) (string, error) {
	cmd := l.command("kubectl", "--name="+name, "--", "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifest)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// share is a pod of the host's own shell that asks for a share and for a quarter of a core.
func share(name, command, more string) string {
	manifest := strings.Replace(pod, "metadata: {name: shell}", "metadata: {name: "+name+`, annotations: {gpushare/gpu-mem: "1Gi"}}`, 1)
	manifest = strings.Replace(manifest, "spec:\n", "spec:\n  restartPolicy: Never\n", 1)
	manifest = strings.Replace(manifest, "cpu: 100m", "cpu: 250m", 1)
	manifest = strings.Replace(manifest, `echo hello from $HOSTNAME; sleep 3600`, command, 1)
	return strings.Replace(manifest, "    volumeMounts:", more+"\n    volumeMounts:", 1)
}

// lateVolume takes a folder of the node.
const lateVolume = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: late}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: late
  local: {path: %s}
  nodeAffinity:
    required: {nodeSelectorTerms: [{matchExpressions: [{key: gpushare, operator: In, values: ["true"]}]}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: late}
spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 500Mi}}}
`
