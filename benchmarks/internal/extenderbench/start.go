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

// startQuestions is the number of requests before memory is read.
const startQuestions = 16

// Start is a cold start: the seconds from the start of the process to readiness, and its peak memory in MB after
// requests about all nodes.
type Start struct {
	Seconds, PeakMB float64
}

// start measures cold starts with running pods.
func (b *bench) start(ctx context.Context, p *plane) error {
	on, err := openBus(ctx, p.stock, b.dir)
	if err != nil {
		return err
	}
	defer on.close()
	f := newFleet(b.Seed)
	nodes := f.grow(b.scale.startNodes)
	jobs := f.scatter(b.scale.startPods)
	if err := p.register(ctx, nodes); err != nil {
		return err
	}
	if err := p.run(ctx, jobs); err != nil {
		return err
	}
	if err := announce(ctx, on, nodes); err != nil {
		return err
	}
	if err := occupy(ctx, on, jobs); err != nil {
		return err
	}
	b.say("%d nodes and %d running pods are there", len(nodes), len(jobs))
	for range b.scale.starts {
		begun := time.Now()
		ours, err := b.ours(p, on, "growth")
		if err != nil {
			return err
		}
		measured := Start{}
		if err = ours.wait(ctx); err == nil {
			measured.Seconds = time.Since(begun).Seconds()
			err = b.askSome(ctx, ours, nodes)
		}
		peak, unread := ours.peak()
		ours.stop()
		if err != nil {
			return err
		}
		if unread != nil {
			return unread
		}
		measured.PeakMB = float64(peak) / 1e6
		b.out.Start = append(b.out.Start, measured)
		b.say("cold start: %.2f s, peak memory %.0f MB", measured.Seconds, measured.PeakMB)
	}
	return nil
}

// register creates ready nodes with GPU memory.
func (p *plane) register(ctx context.Context, nodes []string) error {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("512Gi"), corev1.ResourcePods: resource.MustParse("110"),
		gpushare.Resource: *resource.NewQuantity(int64(gpusPerNode*gpuMemory>>10), resource.DecimalSI),
	}
	return each(ctx, nodes, func(ctx context.Context, name string) error {
		_, err := p.client.CoreV1().Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{gpushare.NodeLabel: "true", corev1.LabelHostname: name}},
			Status: corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"},
			}},
		}, metav1.CreateOptions{})
		return err
	})
}

// bound creates bound pods. Their nodes need not exist. The jobs take over the UIDs of the API server.
func (p *plane) bound(ctx context.Context, jobs []occupant) error {
	return p.create(ctx, jobs, func(context.Context, *corev1.Pod) error { return nil })
}

// run creates bound pods in phase Running.
func (p *plane) run(ctx context.Context, jobs []occupant) error {
	return p.create(ctx, jobs, func(ctx context.Context, made *corev1.Pod) error {
		made.Status.Phase = corev1.PodRunning
		_, err := p.client.CoreV1().Pods("default").UpdateStatus(ctx, made, metav1.UpdateOptions{})
		return err
	})
}

func (p *plane) create(ctx context.Context, jobs []occupant, then func(context.Context, *corev1.Pod) error) error {
	all := make([]*occupant, len(jobs))
	for i := range jobs {
		all[i] = &jobs[i]
	}
	return each(ctx, all, func(ctx context.Context, o *occupant) error {
		made, err := p.client.CoreV1().Pods("default").Create(ctx, running(*o), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		o.uid = growth.PodUID(made.UID)
		return then(ctx, made)
	})
}

func (p *plane) clearPods(ctx context.Context) error {
	now := int64(0)
	return p.client.CoreV1().Pods("default").DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
}

// askSome sends some requests, as a scheduler in use would have.
func (b *bench) askSome(ctx context.Context, ours contestant, nodes []string) error {
	q := &questions{dice: rand.New(rand.NewPCG(b.Seed, 3))}
	bodies, err := q.aboutEach(named(nodes), startQuestions)
	if err != nil {
		return err
	}
	_, err = askAll(ctx, newAsker(ours.url), bodies)
	return err
}
