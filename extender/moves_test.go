package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/extender/internal/upstreamtest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// TestExtender_MovesJobs moves the pod of a Job, of a StatefulSet and a bare pod from one node to the other, on a stock API server with a
// stock kube-scheduler and controllers. kubelet and the coordinators are played by the test (node).
func TestExtender_MovesJobs(t *testing.T) {
	plane, c, ended := start(t, 2, gpushare.Resource, nil)
	plane.Controllers(t, "job-controller", "statefulset-controller")
	n := newNode(t, plane, c.Etcd)
	one := int32(1)
	pod := trainer("bare", 1)
	pod.Annotations = map[string]string{gpushare.MemoryAnnotation: "1Gi"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: pod.Annotations}, Spec: *pod.Spec.DeepCopy()}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := plane.Client.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "owned"}, Spec: batchv1.JobSpec{Parallelism: &one, Completions: &one, Template: template},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = plane.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	template = *template.DeepCopy()
	template.Labels, template.Spec.RestartPolicy = map[string]string{"app": "set"}, corev1.RestartPolicyAlways
	_, err = plane.Client.AppsV1().StatefulSets("default").Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "set"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &one,
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: template,
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)

	for _, name := range []string{"owned", "bare", "set"} {
		old := n.running(t, name, "")
		other := map[string]string{"node-0": "node-1", "node-1": "node-0"}[old.Spec.NodeName]
		n.ask(t, old, other)
		moved := n.running(t, name, old.UID)
		require.Equal(t, other, moved.Spec.NodeName, "the new pod is on the target")
		requireEvent(t, plane, moved.Name, "The job has moved from node "+old.Spec.NodeName+" to "+other)
		require.NotContains(t, moved.Annotations, gpushare.PausedAnnotation)
		require.Equal(t, 1, n.together(name), "never two pods of a job run at a time")
	}
	requireDrain(t, c, ended)
}

// TestExtender_RefusesMoves shows the events of requests that are refused.
func TestExtender_RefusesMoves(t *testing.T) {
	plane, c, ended := start(t, 1, gpushare.Resource, nil)
	n := newNode(t, plane, c.Etcd)
	for name, test := range map[string]struct{ checkpoint, to, why string }{
		"no-checkpoint": {"none", "any", "it cannot save"},
		"nowhere":       {"", "node-7", "The job is not moved to node node-7: nothing is known about the node yet"},
		"here":          {"", "node-0", "The job is on node node-0 already"},
	} {
		pod := trainer(name, 1)
		pod.Annotations = map[string]string{gpushare.MemoryAnnotation: "1Gi", gpushare.CheckpointAnnotation: test.checkpoint}
		_, err := plane.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
		n.ask(t, n.running(t, name, ""), test.to)
		requireEvent(t, plane, name, test.why)
		require.Eventually(t, func() bool {
			pod, err := plane.Client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err)
			_, asks := pod.Annotations[gpushare.MoveAnnotation]
			return !asks && pod.DeletionTimestamp == nil
		}, time.Minute, 50*time.Millisecond, "the request is removed, and the pod runs on")
	}
	requireDrain(t, c, ended)
}

// TestExtender_AbortsMovesOfJobsThatCannotSave shows the reasons of package gpushare's shim in the event, and that the job goes on.
func TestExtender_AbortsMovesOfJobsThatCannotSave(t *testing.T) {
	plane, c, ended := start(t, 2, gpushare.Resource, nil)
	n := newNode(t, plane, c.Etcd)
	for name, why := range map[string]string{
		"full":     "the volume is full: free space on it, or request a larger one (OSError: No space left on device)",
		"short":    "the file is larger than the limit of the process (ulimit -f): raise it (OSError: File too large)",
		"readonly": "the volume is mounted read-only: mount a writable one at the path of the checkpoint (OSError: Read-only file system)",
		"grace":    "it did not answer in time",
	} {
		n.mu.Lock()
		n.fails[name] = why
		n.mu.Unlock()
		create(t, plane, name, "1Gi", 1)
		n.ask(t, n.running(t, name, ""), gpushare.MoveAnywhere)
		requireEvent(t, plane, name, "The move of the job to another one has ended early: the job did not save: "+why)
		require.Eventually(t, func() bool {
			pod, err := plane.Client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err)
			_, paused := pod.Annotations[gpushare.PausedAnnotation]
			return !paused && pod.DeletionTimestamp == nil
		}, time.Minute, 50*time.Millisecond, "it runs on")
	}
	requireDrain(t, c, ended)
}

// node plays kubelet and the coordinators: pods run as soon as they are bound, end when they are deleted, save when they are
// asked to, and continue at the saved step.
type node struct {
	plane *upstreamtest.Plane
	bus   *etcdbus.Bus

	// sample returns the sample of a job, without its pod and step; nil if it has no more.
	sample func(*corev1.Pod) bus.Sample

	mu     sync.Mutex
	most   map[string]int       // of each job: how many of its pods ran at a time
	ends   map[string]int       // how often a pod of it has succeeded
	ended  map[string]bool      // its program ends by itself
	away   map[played]time.Time // who does nothing until a time
	fails  map[string]string    // why a job cannot save
	killed map[types.UID]bool   // the pods of a process that was killed: its open request to save fails
}

// played is a program that the test plays, for a job.
type played struct {
	program, job, node string
}

// isAway reports whether a program was killed and has not started again.
func (n *node) isAway(program string, p *corev1.Pod) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.away[played{program, job(p.Name), p.Spec.NodeName}])
}

// together returns how many pods of a job ran at a time, at most.
func (n *node) together(job string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.most[job]
}

func newNode(t *testing.T, plane *upstreamtest.Plane, c etcdbus.Config, changes ...func(*node)) *node {
	b, err := etcdbus.Open(c)
	require.NoError(t, err)
	n := &node{
		plane:  plane,
		bus:    b,
		most:   map[string]int{},
		ends:   map[string]int{},
		ended:  map[string]bool{},
		away:   map[played]time.Time{},
		fails:  map[string]string{},
		killed: map[types.UID]bool{},
	}
	for _, change := range changes {
		change(n)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			n.pass(ctx)
			time.Sleep(50 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { stop(); <-done; _ = b.Close() })
	return n
}

func (n *node) pass(ctx context.Context) {
	pods := n.plane.Client.CoreV1().Pods("default")
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	running := map[string]int{}
	for i := range list.Items {
		if p := &list.Items[i]; n.kubelet(ctx, p) {
			running[job(p.Name)]++
			n.coordinate(ctx, p)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, count := range running {
		n.most[name] = max(n.most[name], count)
	}
}

// kubelet starts a pod, or ends it, and reports whether it runs.
func (n *node) kubelet(ctx context.Context, p *corev1.Pod) bool {
	pods := n.plane.Client.CoreV1().Pods("default")
	pending, away := p.Status.Phase == corev1.PodPending, n.isAway("kubelet", p)
	switch {
	case p.Status.Phase == corev1.PodSucceeded, p.Status.Phase == corev1.PodFailed, p.Spec.NodeName == "":
		if p.DeletionTimestamp != nil {
			_ = pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		}
		return false
	case away:
		return !pending
	case p.DeletionTimestamp != nil:
		_ = pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		return true // until the next pass
	case pending:
		p.Status.Phase = corev1.PodRunning
	case n.hasEnded(job(p.Name)):
		p.Status.Phase = corev1.PodSucceeded
	default:
		return true
	}
	_, err := pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
	if err == nil && !pending {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.ends[job(p.Name)]++
	}
	return true
}

// hasEnded reports whether the program of a job ends by itself.
func (n *node) hasEnded(job string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ended[job]
}

// wasKilled reports once whether the process of a pod was killed.
func (n *node) wasKilled(p *corev1.Pod) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	killed := n.killed[p.UID]
	delete(n.killed, p.UID)
	return killed
}

// coordinate publishes the job's step, and answers a request to save.
func (n *node) coordinate(ctx context.Context, p *corev1.Pod) {
	if n.isAway("coordinator", p) || n.isAway("job", p) || p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil {
		return
	}
	ref := growth.PodRef{Namespace: p.Namespace, Name: p.Name, UID: growth.PodUID(p.UID)}
	var s bus.Sample
	if n.sample != nil {
		s = n.sample(p)
	}
	s.Pod, s.Step = ref, 40
	value, _ := bus.Encode(s)
	_, _ = n.bus.Put(ctx, bus.SampleKey(ref.UID), value, bus.Persistent)
	request := p.Annotations[gpushare.SaveAnnotation]
	if saved, err := gpushare.ParseSaved(p.Annotations[gpushare.SavedAnnotation]); request == "" || err == nil && saved.Request == request {
		return
	}
	answer := gpushare.Saved{Request: request, Step: 40, SHA256: strings.Repeat("0f", 32), Path: "/checkpoints/job.pt"}
	n.mu.Lock()
	answer.Failed = n.fails[job(p.Name)]
	n.mu.Unlock()
	if n.wasKilled(p) {
		answer = gpushare.Saved{Request: request, Failed: "its processes ended before they had saved"}
	}
	patch := []byte(`{"metadata": {"annotations": {"` + gpushare.SavedAnnotation + `": "` + answer.String() + `"}}}`)
	_, _ = n.plane.Client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{})
}

// job returns the name of the job of a pod.
func job(pod string) string { name, _, _ := strings.Cut(pod, "-"); return name }

// running waits for the running pod of a job that is not the one with a UID.
func (n *node) running(t *testing.T, name string, not types.UID) (found *corev1.Pod) {
	t.Helper()
	require.Eventually(t, func() bool {
		list, err := n.plane.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for i := range list.Items {
			p := &list.Items[i]
			if (p.Name == name || job(p.Name) == name) && p.UID != not && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
				found = p
				return true
			}
		}
		return false
	}, time.Minute, 50*time.Millisecond, "the job %s runs", name)
	return found
}

// ask asks to move a pod.
func (n *node) ask(t *testing.T, p *corev1.Pod, to string) {
	t.Helper()
	patch := []byte(`{"metadata": {"annotations": {"` + gpushare.MoveAnnotation + `": "` + to + `"}}}`)
	_, err := n.plane.Client.CoreV1().Pods(p.Namespace).Patch(t.Context(), p.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
}
