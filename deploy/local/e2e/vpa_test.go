//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var withVPA = flag.Bool("vpa", false, "run the test with the Vertical Pod Autoscaler, whose first build takes minutes")

// TestVPA_TrellisGivesWay runs the updater of the Vertical Pod Autoscaler next to Trellis. The test writes the recommendation in
// place of the recommender, which needs hours of measurements.
func TestVPA_TrellisGivesWay(t *testing.T) {
	if !*withVPA {
		t.Skip("SKIPPED: the first build of the updater takes minutes; `make test-vpa` runs this test")
	}
	l := buildLocal(t)
	name := l.up("--nodes=1")
	l.run("install", "--name="+name, "--gpus=emulated:1x24GiB", "--policy=flowcon")
	crds := filepath.Join(vpaModuleFolder(t), "deploy", "vpa-v1-crd-gen.yaml")
	l.kubectl(name, "apply", "--server-side", "-f", crds)
	l.kubectl(name, "wait", "--for=condition=Established", "crd/verticalpodautoscalers.autoscaling.k8s.io", "--timeout=60s")

	l.apply(name, statefulSet(share("governed", `while :; do echo loss 0.5; sleep 0.2; done`, "")))
	l.kubectl(name, "rollout", "status", "statefulset/governed", "--timeout=120s")
	uid := l.field(name, "pod/governed-0", "{.metadata.uid}")
	l.apply(name, vpa)
	l.kubectl(name, "patch", "vpa/governed", "--subresource=status", "--type=merge", "-p", recommendation)
	startUpdater(l, name)

	request := func() string { return l.field(name, "pod/governed-0", "{.spec.containers[0].resources.requests.cpu}") }
	require.Eventually(t, func() bool { return request() == "600m" }, 2*time.Minute, time.Second, "the autoscaler resizes the pod")
	require.Equal(t, uid, l.field(name, "pod/governed-0", "{.metadata.uid}"), "in place")
	notTuned := func() string {
		return l.kubectl(name, "get", "events", "--field-selector=involvedObject.name=governed-0,reason=CPUNotTuned",
			"-o=jsonpath={.items[*].message}")
	}
	require.Eventually(t, func() bool { return notTuned() != "" }, time.Minute, time.Second, "Trellis says that it gives way")
	require.Contains(t, notTuned(), "has set its CPU request")
	for range 10 { // rounds in which nothing may change
		time.Sleep(2 * time.Second)
		require.Equal(t, "600m", request())
	}
}

// statefulSet puts a pod into a StatefulSet of one replica.
func statefulSet(pod string) string {
	_, spec, _ := strings.Cut(pod, "spec:\n")
	spec = strings.Replace(spec, "  restartPolicy: Never\n", "", 1)
	var template strings.Builder
	for line := range strings.Lines(spec) {
		template.WriteString("    " + line)
	}
	return `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: governed}
spec:
  serviceName: none
  selector: {matchLabels: {app: governed}}
  template:
    metadata:
      labels: {app: governed}
      annotations: {gpushare/gpu-mem: "1Gi", gpushare/metric: "loss:min", gpushare/progress: "log:loss ([0-9.]+)"}
    spec:
` + template.String()
}

// startUpdater builds the updater and runs it on the host until the test ends.
func startUpdater(l local, name string) {
	l.t.Helper()
	build := l.command("build", "--only=vpa")
	build.Env = append(os.Environ(), "TRELLIS_STOCK_DIR=") // a folder of ready programs has no updater
	out, err := build.Output()
	require.NoError(l.t, err, string(out))
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	updater := exec.CommandContext(l.t.Context(), filepath.Join(lines[len(lines)-1], "vpa-updater"),
		"--kubeconfig="+l.run("kubeconfig", "--name="+name), "--updater-interval=5s", "--min-replicas=1",
		"--use-admission-controller-status=false", "--address=127.0.0.1:0")
	var log strings.Builder
	updater.Stdout, updater.Stderr = &log, &log
	require.NoError(l.t, updater.Start())
	l.t.Cleanup(func() {
		_ = updater.Wait() // the end of the test's context has killed it
		if l.t.Failed() {
			l.t.Log(log.String())
		}
	})
}

// vpaModuleFolder is the folder of the pinned module in the module cache.
func vpaModuleFolder(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", "k8s.io/autoscaler/vertical-pod-autoscaler")
	cmd.Dir, cmd.Env = filepath.Join("..", "stock", "vpa"), append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	var module struct{ Dir string }
	require.NoError(t, json.Unmarshal(out, &module))
	return module.Dir
}

const vpa = `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: governed}
spec:
  targetRef: {apiVersion: apps/v1, kind: StatefulSet, name: governed}
  updatePolicy: {updateMode: InPlaceOrRecreate}
`

const recommendation = `{"status": {
  "conditions": [{"type": "RecommendationProvided", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
  "recommendation": {"containerRecommendations": [{
    "containerName": "main", "target": {"cpu": "600m"}, "lowerBound": {"cpu": "500m"}, "upperBound": {"cpu": "700m"}}]}}}`
