//go:build e2e && linux

package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

var withFreezer = flag.Bool("freezer", false, "run the test of the component gpu-freezer")

// freezerFile has two jobs on one GPU. The test starts plain without the shim.
const freezerFile = `name,kind,arrival_seconds,steps,batch_size,gpu_mem,cpu,metric,progress,seed,device
plain,gru,0,2400,64,8Gi,150m,loss:min,socket,31,emulated
shim,lstm,0,3600,64,8Gi,150m,loss:min,socket,32,emulated
`

// TestFreezer installs the component gpu-freezer. A job without the shim is frozen between its turns and while it is paused, and computes
// the same result. When the coordinator is deleted nothing stays frozen.
func TestFreezer(t *testing.T) {
	if !*withFreezer {
		t.Skip("SKIPPED: the component is optional; `make test-freezer` runs this test")
	}
	skipUnlessRoot(t)
	s := newComputing(t, "freezer", buildLocal(t), "", freezerFile)
	s.addComponent(t, "gpu-freezer")
	plain := s.startForFreezer(t)
	folder := s.freezerOf(t, plain)
	s.measureAsDriver(t)

	s.becomesFrozen(t, plain.Name, folder)
	require.Contains(t, s.eventsOf(t, plain.Name), "GPUTimeFrozen")
	s.pausesFrozen(t, plain.Name, folder)
	eventually(t, "the job is frozen", time.Minute, func() bool { return frozen(folder) })
	require.NoError(t, s.Kubernetes.AppsV1().DaemonSets(cluster.Namespace).Delete(t.Context(), "coordinator", metav1.DeleteOptions{}))
	eventually(t, "the coordinator has ended", time.Minute, func() bool { return len(s.processes(t, "coordinator")) == 0 })
	require.False(t, frozen(folder), "the job stays frozen without a coordinator")

	for _, job := range s.jobs {
		eventually(t, job.Name+" finishes", 5*time.Minute, func() bool { return s.pod(t, job.Name).Status.Phase == corev1.PodSucceeded })
	}
	s.resultsAreThoseOfUngatedRuns(t)
}

// becomesFrozen waits until the job has been frozen and thawed several times. If it is not, it prints what Trellis says about the job.
func (s *stage) becomesFrozen(t *testing.T, name, folder string) {
	defer func() {
		if t.Failed() {
			t.Log(s.plugin(t, "explain", name, "-n", s.run.Setup.Namespace))
		}
	}()
	changes, was := 0, frozen(folder)
	eventually(t, "the job is frozen and thawed several times", 2*time.Minute, func() bool {
		if now := frozen(folder); now != was {
			was, changes = now, changes+1
		}
		return changes >= 5
	})
}

// pausesFrozen pauses the job, which stays frozen until it is resumed.
func (s *stage) pausesFrozen(t *testing.T, name, folder string) {
	s.plugin(t, "pause", name, "-n", s.run.Setup.Namespace)
	eventually(t, "the job is paused", time.Minute, func() bool { return s.hasEvent(t, name, "Paused", "") })
	require.Never(t, func() bool { return !frozen(folder) }, 10*time.Second, 100*time.Millisecond, "a paused job runs")
	s.plugin(t, "resume", name, "-n", s.run.Setup.Namespace)
	eventually(t, "the job runs again", time.Minute, func() bool { return !frozen(folder) })
}

// addComponent applies the patches of a component to the DaemonSet of the running coordinator, and waits until it is replaced.
func (s *stage) addComponent(t *testing.T, name string) {
	content, err := os.ReadFile(filepath.Join("../../deploy/components", name, "kustomization.yaml"))
	require.NoError(t, err)
	var component struct {
		Patches []struct{ Patch string }
	}
	require.NoError(t, yaml.Unmarshal(content, &component))
	require.NotEmpty(t, component.Patches)
	sets := s.Kubernetes.AppsV1().DaemonSets(cluster.Namespace)
	generation := int64(0)
	for _, p := range component.Patches {
		patch, err := yaml.YAMLToJSON([]byte(p.Patch))
		require.NoError(t, err)
		kind := types.StrategicMergePatchType
		if strings.HasPrefix(string(patch), "[") {
			kind = types.JSONPatchType
		}
		set, err := sets.Patch(t.Context(), "coordinator", kind, patch, metav1.PatchOptions{})
		require.NoError(t, err)
		generation = set.Generation
	}
	eventually(t, "the coordinator has the component "+name, 2*time.Minute, func() bool {
		set, err := sets.Get(t.Context(), "coordinator", metav1.GetOptions{})
		status := set.Status
		return err == nil && status.ObservedGeneration >= generation && status.UpdatedNumberScheduled == 1 && status.NumberAvailable == 1
	})
}

// startForFreezer starts both jobs and returns the one without the shim. The bound of the other one lets them take turns at once,
// without a prediction of their sizes.
func (s *stage) startForFreezer(t *testing.T) *corev1.Pod {
	plain, other := s.run.Setup.Pod(s.jobs[0]), s.run.Setup.Pod(s.jobs[1])
	plain.Annotations[gpushare.ProgressAnnotation] = "log:loss=([0-9.eE+-]+)"
	command := plain.Spec.Containers[0].Command
	command[slices.Index(command, "--progress")+1] = "log"
	other.Annotations[gpushare.CoresAnnotation] = "30"
	s.create(t, other)
	return s.create(t, plain)
}

// freezerOf returns the job's cgroup of version 2.
func (s *stage) freezerOf(t *testing.T, pod *corev1.Pod) (folder string) {
	eventually(t, pod.Name+" runs", time.Minute, func() bool {
		for _, process := range trainers(t) {
			found := unifiedGroup.FindStringSubmatch(process.cgroups)
			if found != nil && strings.Contains(found[1], string(pod.UID)) {
				folder = filepath.Join("/sys/fs/cgroup/unified", found[1])
				if unified() {
					folder = filepath.Join("/sys/fs/cgroup", found[1])
				}
			}
		}
		return folder != ""
	})
	return folder
}

// unifiedGroup matches the cgroup of version 2 in /proc/<pid>/cgroup.
var unifiedGroup = regexp.MustCompile(`(?m)^0::(/.+)$`)

func frozen(folder string) bool {
	content, _ := os.ReadFile(filepath.Join(folder, "cgroup.events"))
	return strings.Contains(string(content), "frozen 1")
}

// measureAsDriver stands in for the driver and the device plugin, since an emulated GPU has no driver: until the test ends it
// records the CPU time of each training process as the time of its kernels.
func (s *stage) measureAsDriver(t *testing.T) {
	status, err := s.local.Status(t.Context())
	require.NoError(t, err)
	path := filepath.Join(status.Folder, "nodes", "node-1", "trellis", "gpu-use.json")
	uids := map[string]string{}
	gpu := ""
	eventually(t, "the pods have their GPU", time.Minute, func() bool {
		for _, job := range s.jobs {
			pod := s.pod(t, job.Name)
			uids[job.Name], gpu = string(pod.UID), pod.Annotations[gpushare.GPUAnnotation]
		}
		return gpu != ""
	})
	go func() {
		for t.Context().Err() == nil {
			var uses []string
			for pid, process := range trainers(t) {
				for _, uid := range uids {
					if strings.Contains(process.cgroups, uid) {
						uses = append(uses, fmt.Sprintf(`{"pod":%q,"busySeconds":%f,"processes":1}`, uid, cpuSeconds(pid)))
					}
				}
			}
			record := fmt.Sprintf(`{"v":1,"uptimeSeconds":%f,"gpus":[{"uuid":%q,"uses":[%s]}]}`, bootSeconds(), gpu, strings.Join(uses, ","))
			if os.WriteFile(path+".new", []byte(record), 0o600) == nil {
				_ = os.Rename(path+".new", path)
			}
			time.Sleep(time.Second)
		}
	}()
}

// cpuSeconds returns the CPU time of a process; 0 if it has ended.
func cpuSeconds(pid int) float64 {
	content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(content), ") ")
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100 // ticks of a hundredth of a second
}

// bootSeconds returns the time since boot.
func bootSeconds() float64 {
	content, _ := os.ReadFile("/proc/uptime")
	first, _, _ := strings.Cut(string(content), " ")
	seconds, _ := strconv.ParseFloat(first, 64)
	return seconds
}

// eventsOf returns the reasons of the events of a pod.
func (s *stage) eventsOf(t *testing.T, name string) string {
	events, err := s.Kubernetes.CoreV1().Events(s.run.Setup.Namespace).List(t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.name=" + name,
	})
	require.NoError(t, err)
	var reasons []string
	for _, e := range events.Items {
		reasons = append(reasons, e.Reason)
	}
	return strings.Join(reasons, " ")
}
