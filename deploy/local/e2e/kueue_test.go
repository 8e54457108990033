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

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
)

var withKueue = flag.Bool("kueue", false, "run the test with Kueue, whose first build takes minutes")

// TestKueue_CountsTheSharesOfTemplates installs Kueue with its own manifests and runs the Jobs of docs/other-software.md: two of
// 5 units each, in a queue of 8.
func TestKueue_CountsTheSharesOfTemplates(t *testing.T) {
	if !*withKueue {
		t.Skip("SKIPPED: the first build of Kueue takes minutes; `make test-kueue` runs this test")
	}
	l := buildLocal(t)
	name := l.up("--nodes=1")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(l.try("kubectl", "--name="+name, "--", "get", "events,pods,jobs,workloads", "--all-namespaces"))
			t.Log(l.try("kubectl", "--name="+name, "--", "logs", "-n", "kueue-system", "deployment/kueue-controller-manager", "--tail=40"))
		}
	})
	l.run("install", "--name="+name, "--gpus=emulated:1x24GiB")
	installKueue(l, name)

	blocks := printedBlocks(t, "other-software.md")
	l.apply(name, strings.Replace(blocks["kueue-queue"], `{name: gpushare/gpu-mem, nominalQuota: "96"}`, `{name: gpushare/gpu-mem, nominalQuota: "8"}`, 1))
	const limit = `          limits: {gpushare/gpu-mem: "5"}` + "\n"
	require.Contains(t, blocks["kueue-job"], limit)
	annotationOnly := strings.Replace(blocks["kueue-job"], limit, "", 1)

	t.Run("with the limit in the template the second Job waits", func(t *testing.T) {
		l.oneAfterTheOther(t, name, blocks["kueue-job"])
	})
	t.Run("with the annotation alone Kueue counts nothing and admits both", func(t *testing.T) {
		gate := newGate(t)
		first, second := l.submit(name, gate.job(annotationOnly)), l.submit(name, gate.job(annotationOnly))
		l.runsOnAGPU(name, first)
		l.runsOnAGPU(name, second)
		require.Equal(t, "0", l.queueUsage(name))
		gate.open()
		l.completes(name, first)
		l.completes(name, second)
	})
	t.Run("with the component the annotation is enough", func(t *testing.T) {
		l.kubectl(name, "apply", "-f", filepath.Join(repository, "deploy", "components", "kueue", "mutating.yaml"))
		require.Eventually(t, func() bool { // the API server compiles a new policy in the background
			out, err := l.tryCreate(name, newGate(t).job(annotationOnly), "--dry-run=server", "-o", "yaml")
			return err == nil && strings.Contains(out, `gpushare/gpu-mem: "5"`)
		}, 30*time.Second, 200*time.Millisecond)
		l.oneAfterTheOther(t, name, annotationOnly)
	})
}

// oneAfterTheOther submits the Job twice. The second one waits in the queue until the first one ends.
func (l local) oneAfterTheOther(t *testing.T, name, job string) {
	t.Helper()
	gate := newGate(t)
	first := l.submit(name, gate.job(job))
	l.runsOnAGPU(name, first)
	require.Eventually(t, func() bool { return l.queueUsage(name) == "5" }, time.Minute, 200*time.Millisecond)

	second := l.submit(name, gate.job(job))
	workload := "kueue.x-k8s.io/job-uid=" + l.field(name, second, "{.metadata.uid}")
	require.Eventually(t, func() bool {
		reason := l.kubectl(name, "get", "workloads", "-l", workload, "-o", `jsonpath={.items[*].status.conditions[?(@.type=="QuotaReserved")].message}`)
		return strings.Contains(reason, "insufficient unused quota for gpushare/gpu-mem in flavor shared-gpu, 2 more needed")
	}, time.Minute, 200*time.Millisecond)
	require.Equal(t, "true", l.field(name, second, "{.spec.suspend}"))
	require.Empty(t, l.ofPods(name, second, "{.items[*].metadata.name}"))

	gate.open()
	l.completes(name, first)
	l.completes(name, second)
	ended, started := l.field(name, first, "{.status.completionTime}"), l.field(name, second, "{.status.startTime}")
	require.GreaterOrEqual(t, started, ended)
}

// installKueue builds Kueue and applies its own manifests with testdata/kueue over them.
func installKueue(l local, name string) {
	l.t.Helper()
	build := l.command("build", "--only=kueue")
	build.Env = append(os.Environ(), "TRELLIS_STOCK_DIR=") // a folder of ready programs has no Kueue
	out, err := build.Output()
	require.NoError(l.t, err, string(out))
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	program := filepath.Join(lines[len(lines)-1], "kueue")

	tar := filepath.Join(l.t.TempDir(), "kueue.tar")
	require.NoError(l.t, image.Write(tar, image.Repository+"kueue:1", map[string]string{"/manager": program}, []string{"/manager"}))
	l.run("load", "--name="+name, tar)

	folder := filepath.Join(l.t.TempDir(), "config")
	require.NoError(l.t, os.CopyFS(folder, os.DirFS(filepath.Join(kueueModule(l.t), "config"))))
	require.NoError(l.t, os.CopyFS(filepath.Join(folder, "trellis"), os.DirFS("testdata/kueue")))
	const config = "controller_manager_config.yaml"
	require.NoError(l.t, os.Rename(filepath.Join(folder, "trellis", config), filepath.Join(folder, "components", "manager", config)))
	l.kubectl(name, "apply", "--server-side", "-k", filepath.Join(folder, "trellis"))
	l.kubectl(name, "rollout", "status", "-n", "kueue-system", "deployment/kueue-controller-manager", "--timeout=5m")
}

// kueueModule is the folder of the pinned module in the module cache.
func kueueModule(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", "sigs.k8s.io/kueue")
	cmd.Dir, cmd.Env = filepath.Join("..", "stock", "kueue"), append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	var module struct{ Dir string }
	require.NoError(t, json.Unmarshal(out, &module))
	return module.Dir
}

// submit creates an object with a generated name and returns kind and name.
func (l local) submit(name, manifest string) string {
	l.t.Helper()
	out, err := l.tryCreate(name, manifest, "-o", "name")
	require.NoError(l.t, err, out)
	return out
}

func (l local) tryCreate(name, manifest string, args ...string) (string, error) {
	cmd := l.command(append([]string{"kubectl", "--name=" + name, "--", "create", "-f", "-"}, args...)...)
	cmd.Stdin = strings.NewReader(manifest)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (l local) field(name, object, path string) string {
	l.t.Helper()
	return l.kubectl(name, "get", object, "-o", "jsonpath="+path)
}

// runsOnAGPU waits until the pod of a Job runs where Trellis has placed it.
func (l local) runsOnAGPU(name, job string) {
	l.t.Helper()
	l.kubectl(name, "wait", "--for=jsonpath={.status.ready}=1", job, "--timeout=120s")
	require.Equal(l.t, "trellis", l.ofPods(name, job, "{.items[*].spec.schedulerName}"))
	require.Equal(l.t, "5", l.ofPods(name, job, "{.items[*].spec.containers[0].resources.limits.gpushare/gpu-mem}"))
	require.NotEmpty(l.t, l.ofPods(name, job, "{.items[*].metadata.annotations.gpushare/gpu}"))
}

func (l local) completes(name, job string) {
	l.t.Helper()
	l.kubectl(name, "wait", "--for=condition=Complete", job, "--timeout=120s")
}

// queueUsage is the number of units that Kueue counts.
func (l local) queueUsage(name string) string {
	l.t.Helper()
	return l.field(name, "clusterqueue/shared-gpus", `{.status.flavorsUsage[0].resources[?(@.name=="gpushare/gpu-mem")].total}`)
}
