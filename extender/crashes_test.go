package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/config"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

const (
	// downtime is how long a killed program is away.
	downtime = 400 * time.Millisecond
	// crashNodes are as many as a move needs, and one that it must not choose.
	crashNodes = 3
)

// TestExtender_MovesSurviveCrashes kills each program in each state of a move, of a pod with a Job, of a bare pod and of a job of two
// pods: on a stock API server with a stock kube-scheduler and Job controller. kubelet, the coordinators and the jobs are played by the
// test.
func TestExtender_MovesSurviveCrashes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel() // it waits for most of its time
	w := newCrashes(t)
	for _, victim := range []string{"extender", "bus", "oldcoordinator", "newcoordinator", "oldkubelet", "newkubelet", "job"} {
		t.Run(victim, func(t *testing.T) { w.survive(t, victim) })
	}
	w.nothingIsLeft(t)
}

// states are those in which a program is killed during a move that succeeds.
var states = []move.State{move.Proposed, move.Saving, move.Saved, move.Evicted, move.Placed, move.Restored, move.Done}

// survive moves a job for each state, kills a program when its move has entered that state, and checks that the job ends once. The
// program is killed in all states of one move of several pods.
func (w *crashes) survive(t *testing.T, victim string) {
	gang := &crashJob{name: victim + "gang", states: states, pods: 2}
	createGang(t, w.plane, gang.name, growth.GiB, 1)
	jobs := []*crashJob{gang}
	for _, state := range slices.Concat(states, []move.State{move.Aborted}) {
		for _, kind := range []string{"owned", "bare"} {
			name := victim + strings.ToLower(string(state)) + kind
			j := &crashJob{name: name, states: []move.State{state}, pods: 1, unsaved: state == move.Aborted}
			jobs = append(jobs, j)
			map[string]func(*testing.T, string){"owned": w.createJob, "bare": w.createPod}[kind](t, j.name)
		}
	}
	for _, j := range jobs {
		j.old = w.now(t, j)
		first := j.old[0]
		to := map[string]string{"node-0": "node-1", "node-1": "node-2", "node-2": "node-0"}[first.Spec.NodeName]
		if j.unsaved {
			w.cannotSave(j)
		}
		w.arm(j, func() { w.kills(victim, first, to) })
		w.ask(t, first, to)
	}
	for _, j := range jobs {
		for i, record := range w.settled(t, j) {
			t.Logf("%-32s %s %s", j.name, record.State, record.Why)
			switch {
			case j.unsaved:
				require.Equal(t, move.Aborted, record.State)
			case victim != "job":
				require.Equal(t, move.Done, record.State, record.Why)
			}
			w.isWhere(t, j, i, record)
		}
		w.end(t, j)
	}
	w.jobs = append(w.jobs, jobs...)
}

// crashJob is a job whose move is disturbed in some states.
type crashJob struct {
	name   string
	states []move.State
	pods   int
	old    []*corev1.Pod
	// unsaved is set if it cannot save, so that its move is aborted.
	unsaved bool
}

// cannotSave lets all saves of a job fail.
func (w *crashes) cannotSave(j *crashJob) {
	w.node.mu.Lock()
	defer w.node.mu.Unlock()
	w.fails[j.name] = "the volume is full"
}

// now returns the running pods of a job, by index.
func (w *crashes) now(t *testing.T, j *crashJob) (pods []*corev1.Pod) {
	if j.pods == 1 {
		return []*corev1.Pod{w.running(t, j.name, "")}
	}
	for i := range j.pods {
		pods = append(pods, w.rank(t, j.name, strconv.Itoa(i), ""))
	}
	return pods
}

// isWhere checks that a pod of a job is the one that its record names, on that node.
func (w *crashes) isWhere(t *testing.T, j *crashJob, i int, record move.Record) {
	uid, on := record.New, record.To
	if record.State == move.Aborted {
		uid, on = record.Old, record.From
	}
	pod := w.now(t, j)[i]
	require.Equal(t, uid, growth.PodUID(pod.UID), "%s: %+v", j.name, record)
	require.Equal(t, on, growth.NodeName(pod.Spec.NodeName), "%s: %+v", j.name, record)
}

// crashes is a cluster whose programs are killed.
type crashes struct {
	*node
	config *config.Config
	bus    *wire
	jobs   []*crashJob // that have ended

	mu      sync.Mutex
	pending map[string]func(state move.State) // by job: what is killed when its move enters a state
	kill    context.CancelFunc                // the extender
}

func newCrashes(t *testing.T) *crashes {
	plane, c, schedulerConfig := prepare(t, crashNodes, gpushare.Resource, nil)
	plane.Controllers(t, "job-controller")
	w := &crashes{node: newNode(t, plane, c.Etcd), config: c, pending: map[string]func(move.State){}, bus: newWire(t, plane.Etcd)}
	c.Etcd.Endpoints = []string{w.bus.address()}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go w.extender(ctx, t, done)
	t.Cleanup(func() { stop(); <-done })
	awaitReady(t, c)
	plane.Scheduler(t, schedulerConfig)
	return w
}

// extender runs the extender, and starts it again after it was killed.
func (w *crashes) extender(ctx context.Context, t *testing.T, done chan struct{}) {
	defer close(done)
	for ctx.Err() == nil {
		life, kill := context.WithCancel(ctx)
		w.mu.Lock()
		w.kill = kill
		w.mu.Unlock()
		log := slog.New(observer{slog.NewTextHandler(t.Output(), nil), w})
		if err := run(life, w.config, log); err != nil && ctx.Err() == nil {
			t.Logf("the extender has ended: %v", err)
		}
		kill()
		time.Sleep(downtime)
	}
}

// observer is a log handler that sees a move enter a state, before the mover does anything more.
type observer struct {
	slog.Handler
	w *crashes
}

func (o observer) Handle(ctx context.Context, record slog.Record) error {
	if strings.HasPrefix(record.Message, "a move ") {
		state, pod := move.Proposed, ""
		record.Attrs(func(a slog.Attr) bool {
			switch a.Key {
			case "state":
				state = move.State(a.Value.String())
			case "pod":
				pod = a.Value.String()
			}
			return true
		})
		_, name, _ := strings.Cut(pod, "/")
		o.w.entered(job(name), state)
	}
	return o.Handler.Handle(ctx, record)
}

func (w *crashes) entered(job string, state move.State) {
	w.mu.Lock()
	kill := w.pending[job]
	w.mu.Unlock()
	if kill != nil {
		kill(state)
	}
}

// arm makes something happen once in each state of a job in which it will be disturbed.
func (w *crashes) arm(j *crashJob, kill func()) {
	due := map[move.State]*sync.Once{}
	for _, state := range j.states {
		due[state] = &sync.Once{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending[j.name] = func(state move.State) {
		if once := due[state]; once != nil {
			once.Do(kill)
		}
	}
}

// end lets the program of a job end by itself, and waits until it has.
func (w *crashes) end(t *testing.T, j *crashJob) {
	ends := func() int {
		w.node.mu.Lock()
		defer w.node.mu.Unlock()
		w.ended[j.name] = true
		return w.ends[j.name]
	}
	require.Eventually(t, func() bool { return ends() >= j.pods }, time.Minute, 50*time.Millisecond, "%s ends", j.name)
	require.Equal(t, j.pods, w.together(j.name), "no pod of a job runs next to the one that it continues")
}

// kills kills a program for a while.
func (w *crashes) kills(victim string, old *corev1.Pod, to string) {
	away := func(program, node string) {
		w.node.mu.Lock()
		defer w.node.mu.Unlock()
		w.away[played{program, job(old.Name), node}] = time.Now().Add(downtime)
	}
	switch victim {
	case "extender":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.kill()
	case "bus":
		w.bus.cut(downtime)
	case "oldcoordinator":
		away("coordinator", old.Spec.NodeName)
	case "newcoordinator":
		away("coordinator", to)
	case "oldkubelet":
		away("kubelet", old.Spec.NodeName)
	case "newkubelet":
		away("kubelet", to)
	case "job":
		away("job", old.Spec.NodeName)
		away("job", to)
		w.node.mu.Lock()
		defer w.node.mu.Unlock()
		w.killed[old.UID] = true
	}
}

// settled waits until the move of a job has ended, of all of its pods in the same way.
func (w *crashes) settled(t *testing.T, j *crashJob) (records []move.Record) {
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		records = nil
		for _, old := range j.old {
			entries, _, err := w.node.bus.List(context.Background(), bus.MoveKey(growth.PodUID(old.UID)))
			require.NoError(t, err)
			require.Len(t, entries, 1)
			found, err := bus.Decode[bus.Move](entries[0].Value)
			require.NoError(t, err)
			require.True(t, found.Move.State.Final(), "the move is %s", found.Move.State)
			records = append(records, found.Move)
		}
	}, 2*time.Minute, 50*time.Millisecond)
	for _, record := range records {
		require.Equal(t, records[0].State, record.State, "all pods of %s move, or none does", j.name)
	}
	return records
}

// nothingIsLeft checks that every job has ended once, and that no pod and no reservation remains of them.
func (w *crashes) nothingIsLeft(t *testing.T) {
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		list, err := w.plane.Client.CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, p := range list.Items {
			require.Contains(t, []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}, p.Status.Phase, p.Name)
		}
		entries, _, err := w.node.bus.List(context.Background(), bus.Nodes)
		require.NoError(t, err)
		for _, entry := range entries {
			require.NotContains(t, entry.Key, "/reservations/")
		}
	}, 2*time.Minute, 100*time.Millisecond)
	w.node.mu.Lock()
	defer w.node.mu.Unlock()
	for _, j := range w.jobs {
		require.Equal(t, j.pods, w.ends[j.name], "%s ends once", j.name)
	}
}

func (w *crashes) createPod(t *testing.T, name string) { create(t, w.plane, name, "1Gi", 1) }

// createJob creates a Job that allows no failure: a move is none.
func (w *crashes) createJob(t *testing.T, name string) {
	spec := trainer(name, 1).Spec
	spec.RestartPolicy = corev1.RestartPolicyOnFailure
	_, err := w.plane.Client.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{gpushare.MemoryAnnotation: "1Gi"}},
				Spec:       spec,
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// wire is a connection to the bus that can be cut: a killed bus whose disk is kept.
type wire struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	until time.Time
	open  map[net.Conn]bool
}

func newWire(t *testing.T, target string) *wire {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{listener: listener, target: strings.TrimPrefix(target, "http://"), open: map[net.Conn]bool{}}
	t.Cleanup(func() { _ = listener.Close(); w.cut(time.Hour) })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go w.forward(connection)
		}
	}()
	return w
}

func (w *wire) address() string { return fmt.Sprintf("http://%s", w.listener.Addr()) }

// cut closes every connection, and refuses new ones for a time.
func (w *wire) cut(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = time.Now().Add(d)
	for connection := range w.open {
		_ = connection.Close()
	}
}

func (w *wire) forward(from net.Conn) {
	defer func() { _ = from.Close() }()
	to, err := net.Dial("tcp", w.target)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	w.mu.Lock()
	cut := time.Now().Before(w.until)
	w.open[from], w.open[to] = true, true
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, from)
		delete(w.open, to)
	}()
	if cut {
		return
	}
	go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
	_, _ = io.Copy(from, to)
}
