package gangs_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/gangs"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gang"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// cluster is a cluster with a placer of gangs.
type cluster struct {
	*clustertest.Cluster
	scheduler *scheduler.Scheduler
	placer    *gangs.Placer
	nodes     []string
	ended     []string
}

// newCluster has nodes a, b … with one GPU of some GiB each.
func newCluster(t *testing.T, memory ...growth.MiB) *cluster {
	c := &cluster{Cluster: clustertest.New(t)}
	for i, m := range memory {
		name := string(rune('a' + i))
		c.Node(name, m)
		c.nodes = append(c.nodes, name)
	}
	c.run(c.Cache)
	return c
}

// run runs a scheduler and a placer on a cache.
func (c *cluster) run(nodes *cache.Cache) {
	c.scheduler = c.Scheduler(nodes)
	c.placer = &gangs.Placer{
		Client:  c.Client,
		Cluster: nodes,
		Rooms:   c.scheduler,
		Limits:  gang.DefaultLimits(),
		Log:     slog.New(slog.DiscardHandler),
		Ended:   func(outcome string) { c.ended = append(c.ended, outcome) },
	}
	c.scheduler.Gangs = c.placer
}

// standby returns the same cluster as another replica has it.
func (c *cluster) standby() *cluster {
	other := &cluster{Cluster: c.Cluster, nodes: c.nodes}
	other.run(c.Replica())
	other.Settle()
	return other
}

// create creates the pods of a gang, each of 4 GiB.
func (c *cluster) create(name string, size int) []*corev1.Pod {
	pods := c.createOf(name, size, 4, size)
	c.Settle()
	return pods
}

// createOf creates some pods of a gang, each of some GiB.
func (c *cluster) createOf(name string, size, memory, created int) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range created {
		pod := clustertest.Pod(fmt.Sprintf("%s-%d", name, i), fmt.Sprintf("%dGi", memory), memory)
		pod.Annotations[gpushare.GangAnnotation] = fmt.Sprintf("%s/%d", name, size)
		pod.CreationTimestamp = metav1.Now()
		pods = append(pods, c.Create(pod))
	}
	return pods
}

// filter asks for the nodes of each pod, and returns those that fit, and the first reason.
func (c *cluster) filter(pods []*corev1.Pod) (fit [][]string, reason string) {
	for _, pod := range pods {
		result, err := c.scheduler.Filter(pod, c.nodes)
		require.NoError(c.T, err)
		fit = append(fit, result.Fit())
		for _, status := range result.Statuses {
			if status != nil && reason == "" {
				reason = status.Reason
			}
		}
	}
	return fit, reason
}

func (c *cluster) pass() {
	c.placer.Pass(c.T.Context(), time.Now())
	c.Settle()
}

func (c *cluster) reserved() int {
	n := 0
	for _, node := range c.nodes {
		n += len(c.Reservations(growth.NodeName(node)))
	}
	return n
}

func (c *cluster) events(pod *corev1.Pod) string {
	list, err := c.Client.CoreV1().Events(pod.Namespace).List(c.T.Context(), metav1.ListOptions{})
	require.NoError(c.T, err)
	text := ""
	for _, e := range list.Items {
		if e.InvolvedObject.Name == pod.Name {
			text += e.Reason + ": " + e.Message + "\n"
		}
	}
	return text
}

func TestPlacer_PlacesAllPodsOfAGang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 8, 4)
		pods := c.create("bert", 3)
		fit, reason := c.filter(pods)
		require.Equal(t, [][]string{{}, {}, {}}, fit)
		require.Equal(t, "the pods of gang bert are placed together: it waits for the others", reason)
		require.ErrorIs(t, c.scheduler.Bind(t.Context(), clustertest.Ref(pods[0]), "a"), scheduler.ErrGangWaits)

		c.pass()
		require.Equal(t, 3, c.reserved())
		require.Equal(t, []string{"placed"}, c.ended)
		fit, _ = c.filter(pods)
		for i, pod := range pods {
			require.Len(t, fit[i], 1)
			require.True(t, strings.HasPrefix(c.Get(pod).Annotations[gpushare.PlacedAnnotation], fit[i][0]+" "))
			require.Contains(t, c.events(pod), "GangPlaced: All 3 pods of gang bert have their room")
			require.NoError(t, c.scheduler.Bind(t.Context(), clustertest.Ref(pod), growth.NodeName(fit[i][0])))
			c.Settle()
			c.pass()
			require.Equal(t, 3, c.reserved())
		}
		require.Zero(t, c.placer.Waiting())
	})
}

func TestPlacer_HoldsAPartForALimitedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 8)
		pods := c.create("bert", 3)
		c.filter(pods)
		c.pass()
		require.Equal(t, 2, c.reserved())
		require.Equal(t, 1, c.placer.Waiting())
		_, reason := c.filter(pods)
		require.Equal(t, "2 of the 3 pods of gang bert fit. They keep their room for up to 2m0s, until all of them do", reason)
		require.Contains(t, c.events(pods[2]), "GangWaits: "+reason)

		time.Sleep(gang.DefaultLimits().Hold)
		c.pass()
		require.Zero(t, c.reserved())
		require.Equal(t, []string{"released"}, c.ended)
		require.Contains(t, c.events(pods[0]), "GangReleased: 2 of the 3 pods of gang bert fit. They have kept their room for 2m0s")
		_, reason = c.filter(pods)
		require.Equal(t, "2 of the 3 pods of gang bert fit, and they are placed together", reason)

		c.Node("b", 4)
		c.nodes = append(c.nodes, "b")
		c.Settle()
		c.filter(pods)
		c.pass()
		require.Equal(t, 3, c.reserved(), "it is placed as soon as all fit")
	})
}

func TestPlacer_TwoGangsDoNotBlockOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 8)
		other := clustertest.Pod("other", "4Gi", 4)
		c.Create(other)
		c.Settle()
		require.NoError(t, c.scheduler.Bind(t.Context(), clustertest.Ref(other), "a"))
		c.Settle()
		first, second := c.create("z", 2), c.create("a", 2)
		c.filter(second) // the later one is seen first, and gets what is left
		c.pass()
		require.Equal(t, 1, c.reserved()-1)
		c.filter(first)
		c.pass()
		c.pass()
		_, reason := c.filter(second)
		require.Equal(t, "GPU memory: 4GiB asked, largest free share 0MiB on gpu-0", reason, "it has released its room")
		_, reason = c.filter(first)
		require.Contains(t, reason, "1 of the 2 pods of gang z fit")
		c.Delete(other)
		c.Settle()
		require.NoError(t, c.Bus.Delete(t.Context(), "/trellis/v1/nodes/a/reservations/other-uid"))
		c.Settle()
		c.pass()
		fit, _ := c.filter(first)
		require.Equal(t, [][]string{{"a"}, {"a"}}, fit)
	})
}

func TestPlacer_ReadsTheSizeOfAJob(t *testing.T) {
	controller, three := true, int32(3)
	owned := func(c *cluster, i int) *corev1.Pod {
		pod := clustertest.Pod(fmt.Sprintf("ddp-%d", i), "4Gi", 4)
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "ddp", UID: "job", Controller: &controller}}
		pod.Annotations[batchv1.JobCompletionIndexAnnotation] = fmt.Sprint(i)
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MASTER_ADDR", Value: "ddp-0.ddp"}}
		return c.Create(pod)
	}
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 16)
		_, err := c.Client.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: "ddp"}, Spec: batchv1.JobSpec{Parallelism: &three, Completions: &three},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		pods := []*corev1.Pod{owned(c, 0), owned(c, 1)}
		c.Settle()
		c.filter(pods)
		c.pass()
		_, reason := c.filter(pods)
		require.Contains(t, reason, "2 of the 3 pods of Job ddp exist")
		pods = append(pods, owned(c, 2))
		c.Settle()
		c.filter(pods)
		c.pass()
		fit, _ := c.filter(pods)
		require.Equal(t, [][]string{{"a"}, {"a"}, {"a"}}, fit)
	})
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 8)
		c.Settle() // adding a reactor is a race with what informers call
		failed := true
		c.Client.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			return failed, nil, apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
		})
		_, err := c.Client.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: "ddp"}, Spec: batchv1.JobSpec{Parallelism: &three, Completions: &three},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		pods := []*corev1.Pod{owned(c, 0), owned(c, 1), owned(c, 2)}
		c.Settle()
		c.filter(pods)
		c.pass()
		fit, reason := c.filter(pods)
		require.Equal(t, [][]string{{}, {}, {}}, fit, "a part of the pods must not be bound because a call failed")
		require.Equal(t, "the size of Job ddp has not been read yet, and its pods are placed together", reason)
		failed = false
		for range 3 {
			c.pass()
		}
		_, reason = c.filter(pods)
		require.Contains(t, reason, "2 of the 3 pods of Job ddp fit", "it is read again soon")
		failed = true
		time.Sleep(20 * time.Second)
		c.pass()
		_, reason = c.filter(pods)
		require.Contains(t, reason, "2 of the 3 pods of Job ddp fit", "the last size counts")
	})
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 16)
		pods := []*corev1.Pod{owned(c, 0)}
		c.Settle()
		c.filter(pods)
		c.pass()
		fit, _ := c.filter(pods)
		require.Equal(t, [][]string{{"a"}}, fit, "there is no such Job")
	})
}
