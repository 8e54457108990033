//go:build e2e && linux

package e2e

import (
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// turnsFile has three jobs that share one GPU. The young one is short, and has the GPU with the old one alone at first.
const turnsFile = `name,kind,arrival_seconds,steps,batch_size,gpu_mem,cpu,metric,progress,seed,device
old,gru,0,2900,64,8Gi,150m,loss:min,socket,21,emulated
young,mlp,5,2800,64,8Gi,150m,loss:min,socket,23,emulated
other,lstm,45,2200,64,8Gi,150m,loss:min,socket,22,emulated
`

// TestTurns shares one emulated GPU that computes among three jobs.
func TestTurns(t *testing.T) {
	skipUnlessRoot(t)
	s := newComputing(t, "turns", buildLocal(t), "", turnsFile)
	type outcome struct {
		line *timeline.Timeline
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		line, err := s.run.Watch(t.Context())
		done <- outcome{line, err}
	}()

	t.Run("jobs take turns, and one has more than an equal part of the time", s.sharesDiffer)
	t.Run("explain shows the turns", s.turnsAreExplained)
	t.Run("metrics count the turns", func(t *testing.T) {
		eventually(t, "a turn has passed to another job", time.Minute, func() bool { return s.sum(t, "trellis_coordinator_turn_switches_total") > 0 })
	})
	t.Run("a job that is killed while it holds the turn continues", s.holderIsKilled)
	t.Run("turns go on after kill -9 of the coordinator", func(t *testing.T) {
		s.killed(t, "coordinator")
		s.turnsGoOn(t)
	})
	t.Run("turns go on after a rolling update of the coordinator", func(t *testing.T) {
		s.coordinatorRolls(t)
		s.turnsGoOn(t)
	})

	end := <-done
	require.NoError(t, end.err)
	require.NoError(t, results.Failures(end.line), "every job finishes")
	require.Contains(t, s.turnEvents(t), "in turns with", "an event reports the first turns")
	t.Run("no job waits longer than the bound", func(t *testing.T) { s.nobodyWaits(t, end.line) })
	t.Run("jobs with gaps for one another compute at the same time", s.jobsWithGapsComputeTogether)
	t.Run("placement uses the speeds that the node has measured", s.placementUsesMeasuredSpeeds)
	t.Run("results are those of runs without turns", s.resultsAreThoseOfUngatedRuns)
}

// newComputing brings up a node for jobs on an emulated GPU that computes, with the Trellis that program installs when it runs in folder.
// The node has two cores: the GPU is the first, loaders use the second.
func newComputing(t *testing.T, name, program, folder, jobs string) *stage {
	if runtime.NumCPU() < 2 {
		t.Skip("SKIPPED: the emulated GPU needs a core of its own")
	}
	s := newStageOf(t, name, program, folder, func(l *cluster.Local) {
		l.Nodes, l.GPUs = 1, "emulated:1x24GiB,compute"
		l.UpFlags = []string{"--cpus-per-node", "2"}
	})
	s.computeOn(t, "node-1", jobs)
	return s
}

// computeOn makes the run one of jobs on the emulated GPU of a node.
func (s *stage) computeOn(t *testing.T, node, jobs string) {
	var err error
	s.jobs, err = workload.Parse(strings.NewReader(jobs))
	require.NoError(t, err)
	s.run.Jobs, s.run.Setup.Computing = s.jobs, []string{node}
}

// sharesDiffer waits for a decision by which jobs take turns, and one of them has clearly more than an equal part. Until sizes are
// known, all jobs compute at the same time.
func (s *stage) sharesDiffer(t *testing.T) {
	eventually(t, "jobs take turns, and one has more than an equal part", 3*time.Minute, func() bool {
		state, err := s.State(t.Context())
		if err != nil {
			return false
		}
		paused, largest := 0, growth.Share(0)
		for _, j := range state.Jobs {
			if g := j.Sample.GPUTime; g != nil && g.Paused && g.Held > 0 {
				paused++
				largest = max(largest, g.Share)
			}
		}
		return paused >= 2 && largest > 1/growth.Share(paused)+.05
	})
}

func (s *stage) exists(t *testing.T, name string) bool {
	_, err := s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	return err == nil
}

func (s *stage) turnsAreExplained(t *testing.T) {
	order := regexp.MustCompile(`Order of the turns\n\s+TURN .*\n(\s+now.* path/\S+ .*\n)\s+.* path/\S+ `)
	eventually(t, "explain shows who holds the turn, and who is next", time.Minute, func() bool {
		explained := s.plugin(t, "explain", "old", "-n", s.run.Setup.Namespace)
		require.Regexp(t, `GPU time of EMU-\S+: share \S+ \(\S+ with equal parts\), computed \d+ s, waited \d+ s for its turn`, explained)
		return order.MatchString(explained)
	})
}

// turnsGoOn waits until a coordinator that has just started decides who computes: a turn has passed to another job, or it makes jobs
// compute at the same time because it has measured that they do more then. That they do so until it knows their sizes is not enough.
func (s *stage) turnsGoOn(t *testing.T) {
	defer func() {
		if t.Failed() {
			t.Logf("the coordinator's metrics:\n%s", strings.Join(s.coordinatorMetrics(t), "\n"))
		}
	}()
	eventually(t, "two jobs take turns, or compute at the same time because they do more then", time.Minute, func() bool {
		waited := s.sum(t, "trellis_job_gpu_waited_seconds_total") > 0 && s.sum(t, "trellis_coordinator_turn_switches_total") > 0
		return waited || s.sum(t, "trellis_job_gpu_set_speed_ratio") > 0
	})
}

// sum adds up the coordinator's metrics of a name, which it has counted since it started.
func (s *stage) sum(t *testing.T, name string) (sum float64) {
	t.Helper()
	line := regexp.MustCompile(`^` + name + `\{.*\} (\S+)`)
	for _, metric := range s.coordinatorMetrics(t) {
		if found := line.FindStringSubmatch(metric); found != nil {
			value, err := strconv.ParseFloat(found[1], 64)
			require.NoError(t, err)
			sum += value
		}
	}
	return sum
}

func (s *stage) coordinatorMetrics(t *testing.T) (lines []string) {
	t.Helper()
	for _, pod := range s.pods(t, "coordinator") {
		metrics, err := s.Kubernetes.CoreV1().Pods(pod.Namespace).ProxyGet("http", pod.Name, "9442", "/metrics", nil).DoRaw(t.Context())
		if err != nil {
			continue // a pod of the previous version
		}
		lines = append(lines, strings.Split(string(metrics), "\n")...)
	}
	return lines
}

// holderIsKilled kills the process that computes. Its container starts again and continues from its checkpoint.
func (s *stage) holderIsKilled(t *testing.T) {
	var name string
	eventually(t, "a job with a checkpoint computes", time.Minute, func() bool {
		job, pid, ok := s.holder(t)
		if !ok {
			return false
		}
		known := s.sample(t, job)
		if known == nil || known.Sample.Step < 200 {
			return false
		}
		name = job
		return syscall.Kill(pid, syscall.SIGKILL) == nil
	})
	eventually(t, name+" runs again", time.Minute, func() bool {
		status := s.pod(t, name).Status.ContainerStatuses
		return len(status) == 1 && status[0].RestartCount == 1 && status[0].State.Running != nil
	})
}

// coordinatorRolls replaces the coordinator's pods, as an update does.
func (s *stage) coordinatorRolls(t *testing.T) {
	sets := s.Kubernetes.AppsV1().DaemonSets(cluster.Namespace)
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"rolled":%q}}}}}`, time.Now().String())
	rolled, err := sets.Patch(t.Context(), "coordinator", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, "the coordinator is replaced", 2*time.Minute, func() bool {
		set, err := sets.Get(t.Context(), "coordinator", metav1.GetOptions{})
		if err != nil {
			return false
		}
		status := set.Status
		return status.ObservedGeneration >= rolled.Generation && status.UpdatedNumberScheduled == 1 && status.NumberAvailable == 1
	})
}

// turnEvents returns the texts of all events about GPU time.
func (s *stage) turnEvents(t *testing.T) string {
	var all cluster.Stories
	stories, err := all.New(t.Context(), s.Connection, s.run.Setup.Namespace)
	require.NoError(t, err)
	var texts []string
	for _, story := range stories {
		if story.Reason == "GPUTimeChanged" {
			texts = append(texts, story.Object+": "+story.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// nobodyWaits looks for the longest time in which a job has made no step. With a hundredth of the time it makes few, but makes some.
func (s *stage) nobodyWaits(t *testing.T, line *timeline.Timeline) {
	last, moved, longest := map[string]int64{}, map[string]time.Time{}, map[string]time.Duration{}
	for _, r := range line.Readings {
		for _, j := range r.Jobs {
			if j.State != timeline.Running || !j.Reported || j.Step != last[j.Name] {
				last[j.Name], moved[j.Name] = j.Step, r.At
			}
			longest[j.Name] = max(longest[j.Name], r.At.Sub(moved[j.Name]))
		}
	}
	require.Len(t, longest, len(s.jobs))
	for job, wait := range longest {
		t.Logf("%s: at most %s without a step", job, wait.Round(time.Second))
		require.Less(t, wait, wire.TurnBound, job)
	}
}
