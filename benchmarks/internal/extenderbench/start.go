package extenderbench

import (
	"context"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// startRequests is the number of requests before memory is read.
const startRequests = 16

// Start is a cold start: the seconds from the start of the process to readiness, and its peak memory in MB after
// requests that name all nodes.
type Start struct {
	Seconds, PeakMB float64
}

// start measures cold starts with running pods.
func (b *bench) start(ctx context.Context, p *plane) error {
	store, err := openBus(ctx, p.stock, b.dir)
	if err != nil {
		return err
	}
	defer store.close()
	f := newFleet(b.Seed)
	nodes := f.grow(b.scale.startNodes)
	jobs := f.scatter(b.scale.startPods)
	if err := p.register(ctx, nodes); err != nil {
		return err
	}
	if err := p.createRunningPods(ctx, jobs); err != nil {
		return err
	}
	if err := publishInventories(ctx, store, nodes); err != nil {
		return err
	}
	if err := publishJobs(ctx, store, jobs); err != nil {
		return err
	}
	b.say("%d nodes and %d running pods exist", len(nodes), len(jobs))
	for range b.scale.starts {
		start := time.Now()
		ours, err := b.startExtender(p, store, "growth")
		if err != nil {
			return err
		}
		measured := Start{}
		if err = ours.wait(ctx); err == nil {
			measured.Seconds = time.Since(start).Seconds()
			err = b.sendSome(ctx, ours, nodes)
		}
		peak, peakErr := ours.peak()
		ours.stop()
		if err != nil {
			return err
		}
		if peakErr != nil {
			return peakErr
		}
		measured.PeakMB = float64(peak) / 1e6
		b.out.Start = append(b.out.Start, measured)
		b.say("cold start: %.2f s, peak memory %.0f MB", measured.Seconds, measured.PeakMB)
	}
	return nil
}

// register creates ready nodes with GPU memory.
func (p *plane) register(ctx context.Context, nodes []string) error {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("512Gi"), corev1.ResourcePods: resource.MustParse("110"),
		gpushare.Resource: *resource.NewQuantity(int64(gpusPerNode*gpuMemory>>10), resource.DecimalSI),
	}
	return each(ctx, nodes, func(ctx context.Context, name string) error {
		_, err := p.client.CoreV1().Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{gpushare.NodeLabel: "true", corev1.LabelHostname: name}},
			Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity, Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"},
			}},
		}, metav1.CreateOptions{})
		return err
	})
}

// createBoundPods creates bound pods. Their nodes need not exist. Each job gets the UID that the API server chose.
func (p *plane) createBoundPods(ctx context.Context, jobs []occupant) error {
	return p.createPods(ctx, jobs, func(context.Context, *corev1.Pod) error { return nil })
}

// createRunningPods creates bound pods in phase Running.
func (p *plane) createRunningPods(ctx context.Context, jobs []occupant) error {
	return p.createPods(ctx, jobs, func(ctx context.Context, created *corev1.Pod) error {
		created.Status.Phase = corev1.PodRunning
		_, err := p.client.CoreV1().Pods("default").UpdateStatus(ctx, created, metav1.UpdateOptions{})
		return err
	})
}

func (p *plane) createPods(ctx context.Context, jobs []occupant, update func(context.Context, *corev1.Pod) error) error {
	all := make([]*occupant, len(jobs))
	for i := range jobs {
		all[i] = &jobs[i]
	}
	return each(ctx, all, func(ctx context.Context, o *occupant) error {
		created, err := p.client.CoreV1().Pods("default").Create(ctx, boundPod(*o), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		o.uid = growth.PodUID(created.UID)
		return update(ctx, created)
	})
}

// clearPods deletes all pods of the benchmark.
func (p *plane) clearPods(ctx context.Context) error {
	now := int64(0)
	return p.client.CoreV1().Pods("default").DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
}

// sendSome sends a few requests, so that the peak memory includes what they need.
func (b *bench) sendSome(ctx context.Context, ours contestant, nodes []string) error {
	q := &requests{random: rand.New(rand.NewPCG(b.Seed, 3))}
	bodies, err := q.bodies(encodeNames(nodes), startRequests)
	if err != nil {
		return err
	}
	_, err = sendAll(ctx, newClient(ours.url), bodies)
	return err
}
