//go:build e2e && linux

package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	internalchaos "github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
	"github.com/trellis-gpu/trellis/benchmarks/internal/movechaos"
	"github.com/trellis-gpu/trellis/growth/move"
)

var (
	chaos       = flag.Bool("chaos", false, "kill each program in each state of a move")
	chaosOnly   = flag.String("chaos-only", "", "a regular expression of victim/state, such as \"bus/\" or \"/Saved\"")
	chaosWithin = flag.Duration("chaos-within", 40*time.Minute, "no further kill begins after this time")
)

// strictScript is a job that makes 20 steps a second until the file end exists. It notes in its folder when a second process of it
// runs at the same time, on any node, when it has lost steps that were saved, and when it has ended. It cannot save while the file
// unsaved exists.
const strictScript = `
import fcntl, os, time, gpushare
def note(name, text="x"):
    with open("/checkpoints/" + name, "a") as file:
        file.write(text)
lock = open("/checkpoints/lock", "a")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    note("twice")
step = 0
def save(path):
    if os.path.exists("/checkpoints/unsaved"):
        raise OSError("no space left")
    with open(path, "w") as file:
        file.write(str(step))
gpushare.on_save(save, "/checkpoints/job.txt")
checkpoint = gpushare.resume()
if checkpoint:
    step = int(open(checkpoint.path).read())
    if step != checkpoint.step:
        note("lost", "%s %s\n" % (step, checkpoint.step))
while not os.path.exists("/checkpoints/end"):
    step += 1
    gpushare.step(1 / step, step=step, total_steps=1_000_000)
    time.sleep(.05)
note("ends")
`

// TestChaos kills each program with SIGKILL in each state of a move, of a pod with a Job and of a bare pod. In each case the
// job ends once and never runs twice at a time, and the bus has its memory as long as it runs, and no longer. Some programs are killed
// during moves of a job of two pods.
func TestChaos(t *testing.T) {
	if !*chaos {
		t.Skip("SKIPPED: make chaos runs it")
	}
	skipUnlessRoot(t)
	only := regexp.MustCompile(*chaosOnly)
	m := newMoves(t, "gangs")
	seen, memory := m.followMoves(t), m.followMemory(t)
	began := time.Now()
	var table []string
	for _, row := range movechaos.Rows() {
		if !only.MatchString(row.String()) {
			continue
		}
		if time.Since(began) > *chaosWithin {
			table = append(table, fmt.Sprintf("%-28s not begun within %s", row, *chaosWithin))
			continue
		}
		t.Run(row.String(), func(t *testing.T) {
			outcome := m.disturbed(t, seen, row)
			table = append(table, fmt.Sprintf("%-28s %s", row, outcome))
			t.Logf("%s: %s", row, outcome)
			memory.isComplete(t)
		})
	}
	table = append(table, m.disturbedRanks(t, seen, memory, only, began)...)
	for state, why := range movechaos.LeftOut() {
		table = append(table, fmt.Sprintf("%-28s no row: %s", "*/"+string(state), why))
	}
	t.Logf("killed / in state               a pod of a Job; a bare pod\n%s", strings.Join(table, "\n"))
	eventually(t, "no GPU memory is in use", time.Minute, func() bool { return strings.Count(m.plugin(t, "top"), "path/") == 0 })
}

// disturbed moves two jobs and kills a program when the first of them enters a state.
func (m *moves) disturbed(t *testing.T, seen *transitions, row movechaos.Row) string {
	names := []string{m.unique("owned", row), m.unique("bare", row)}
	var wait sync.WaitGroup
	refused := map[string]func() bool{}
	for i, name := range names {
		m.createStrict(t, name, i == 0)
	}
	for _, name := range names {
		pod := m.training(t, name, 5)
		if row.Unsaved() {
			require.NoError(t, os.WriteFile(filepath.Join(m.folder, name, "unsaved"), nil, 0o600))
		}
		to := m.otherNode(map[string]bool{pod.Spec.NodeName: true})
		var once sync.Once
		wait.Add(1)
		kill := func() {
			once.Do(func() { go func() { defer wait.Done(); m.kill(t, row.Victim, pod, to) }() }) // the log is read on meanwhile
		}
		seen.when(name, func(now move.State) {
			if now == row.State || now.Final() {
				kill()
			}
		})
		m.plugin(t, "move", pod.Name, "-n", pod.Namespace, "--to", to)
		refused[name] = func() bool {
			no := m.hasEvent(t, pod.Name, "MoveRefused", "")
			if no { // the first job's kill has taken the target of this one
				kill()
			}
			return no
		}
	}
	outcomes := make([]string, len(names))
	for i, name := range names {
		eventually(t, name+" has moved, or stays", 5*time.Minute, func() bool {
			outcomes[i] = seen.end(name)
			if outcomes[i] == "" && refused[name]() {
				outcomes[i] = "Refused"
			}
			return outcomes[i] != ""
		})
		require.True(t, !row.Unsaved() || strings.HasPrefix(outcomes[i], string(move.Aborted)), outcomes[i])
	}
	wait.Wait()
	for _, name := range names {
		m.endsOnce(t, name)
	}
	return strings.Join(outcomes, "; ")
}

func (m *moves) unique(kind string, row movechaos.Row) string {
	return strings.ToLower(strings.ReplaceAll(row.Victim, " ", "")+string(row.State)) + kind
}

// createStrict creates a job that notes what must not happen, in a Job or as a bare pod.
func (m *moves) createStrict(t *testing.T, name string, owned bool) {
	pod := m.longJob(name, "1Gi")
	pod.Spec.NodeSelector = nil
	pod.Labels[jobLabel] = name
	pod.Spec.Containers[0].Command = []string{m.run.Setup.Python, "-c", strictScript}
	m.share(pod, name)
	if !owned {
		m.create(t, pod)
		return
	}
	_, err := m.Kubernetes.BatchV1().Jobs(pod.Namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: pod.Namespace},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations},
			Spec:       pod.Spec,
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// endsOnce lets a job end, and reads what it has noted.
func (m *moves) endsOnce(t *testing.T, name string) {
	folder := filepath.Join(m.folder, name)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "end"), nil, 0o600))
	eventually(t, name+" ends", 2*time.Minute, func() bool {
		pod := m.podOf(t, name)
		return pod != nil && pod.Status.Phase == corev1.PodSucceeded
	})
	ends, err := os.ReadFile(filepath.Join(folder, "ends"))
	require.NoError(t, err)
	require.Equal(t, "x", string(ends), "it ends once")
	require.NoFileExists(t, filepath.Join(folder, "twice"), "it never runs twice at a time")
	require.NoFileExists(t, filepath.Join(folder, "lost"), "it has its checkpoint")
}

// kill kills a program, and waits until it is back.
func (m *moves) kill(t *testing.T, victim string, old *corev1.Pod, to string) {
	which, program, _ := strings.Cut(victim, " ")
	node := map[string]string{"old": old.Spec.NodeName, "new": to}[which]
	if program == "" {
		program = victim
	}
	switch program {
	case "kubelet":
		require.NoError(t, m.local.RestartKubelet(context.Background(), node))
		return
	case "job":
		m.signal(t, "/usr/bin/python3", string(old.UID))
		return
	case "bus":
		program = "usr/local/bin/etcd"
	}
	m.signal(t, "/"+program, "/trellis-"+m.local.Name+"/"+node)
}

// signal kills the processes of a program whose cgroup contains text, if there are any.
func (m *moves) signal(t *testing.T, program, text string) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, folder := range folders {
		command, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		cgroups, _ := os.ReadFile(filepath.Join(folder, "cgroup"))
		name, _, _ := strings.Cut(string(command), "\x00")
		if name != program || !strings.Contains(string(cgroups), text) || !strings.Contains(string(cgroups), "kubepods") {
			continue
		}
		var pid int
		_, err := fmt.Sscanf(filepath.Base(folder), "%d", &pid)
		require.NoError(t, err)
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
	}
}

// transitions are the states that moves enter, by the log of the extender.
type transitions struct {
	mu    sync.Mutex
	calls map[string]func(move.State)
	ends  map[string]string
	lines []string // for a failed test
}

func (s *transitions) when(job string, call func(move.State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[job] = call
}

// end returns how the move of a job has ended, "" if it has not.
func (s *transitions) end(job string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ends[job]
}

// moveLine matches a line of the extender's log about a move, and its pod; stateInLine the state and the reason.
var (
	moveLine    = regexp.MustCompile(`"msg":"a move (?:begins|goes on)".*?"pod":\{[^}]*"name":"([a-z0-9-]+)"`)
	stateInLine = regexp.MustCompile(`"state":"(\w+)".*?"why":"([^"]*)"`)
)

// followMoves reads the log of the extender, also of the next one after it was killed.
func (m *moves) followMoves(t *testing.T) *transitions {
	s := &transitions{calls: map[string]func(move.State){}, ends: map[string]string{}}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for since := metav1.Now(); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			for _, pod := range m.pods(t, "extender") {
				m.readMoves(ctx, s, pod, &since)
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-done
		if t.Failed() {
			t.Logf("what the extender did:\n%s", strings.Join(s.lines, "\n"))
			t.Logf("the pods:\n%s", m.podStates(context.WithoutCancel(t.Context())))
		}
	})
	return s
}

// podStates describes the pods that are there.
func (m *moves) podStates(ctx context.Context) string {
	list, err := m.Kubernetes.CoreV1().Pods(m.run.Setup.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, p := range list.Items {
		fmt.Fprintf(&text, "%s on %s: %s %s, deleted %v, annotations %v, containers %v\n", p.Name, p.Spec.NodeName, p.Status.Phase, p.Status.Message,
			p.DeletionTimestamp, p.Annotations, p.Status.ContainerStatuses)
	}
	return text.String()
}

func (m *moves) readMoves(ctx context.Context, s *transitions, pod corev1.Pod, since *metav1.Time) {
	stream, err := m.Kubernetes.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: "extender", Follow: true, Timestamps: true, SinceTime: since,
	}).Stream(ctx)
	if err != nil {
		return
	}
	defer stream.Close()
	internalchaos.Lines(stream, &since.Time, s.line)
}

func (s *transitions) line(text string) {
	found := moveLine.FindStringSubmatch(text)
	if found == nil {
		return
	}
	state, why := move.Proposed, ""
	if of := stateInLine.FindStringSubmatch(text); of != nil {
		state, why = move.State(of[1]), of[2]
	}
	s.mu.Lock()
	s.lines = append(s.lines, text)
	var call func(move.State)
	for job, c := range s.calls {
		if found[1] == job || strings.HasPrefix(found[1], job+"-") {
			call = c
			if state.Final() {
				s.ends[job] = strings.TrimSpace(string(state) + " " + why)
			}
		}
	}
	s.mu.Unlock()
	if call != nil {
		call(state)
	}
}
