package extenderbench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/trellis-gpu/trellis/growth"
	state "github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// The GPUs of a node, as in the measurements of other GPU sharers.
const (
	gpusPerNode = 8
	gpuMemory   = 80 * growth.GiB
)

// occupant is a running job with memory on one GPU.
type occupant struct {
	uid  growth.PodUID
	name string
	node growth.NodeName
	gpu  growth.GPU
	size growth.MiB
}

func (o occupant) ref() growth.PodRef {
	return growth.PodRef{Namespace: "default", Name: o.name, UID: o.uid}
}

// fleet is a set of nodes with their occupants. The same seed gives the same fleet.
type fleet struct {
	random    *rand.Rand
	nodes     []string
	used      [][gpusPerNode]growth.MiB
	occupants []occupant
}

func newFleet(seed uint64) *fleet { return &fleet{random: rand.New(rand.NewPCG(seed, 0))} }

// grow adds empty nodes until there are this many, and returns the new ones.
func (f *fleet) grow(nodes int) []string {
	before := len(f.nodes)
	for i := before; i < nodes; i++ {
		f.nodes = append(f.nodes, fmt.Sprintf("gpu-node-%05d", i))
		f.used = append(f.used, [gpusPerNode]growth.MiB{})
	}
	return f.nodes[before:]
}

// fill adds jobs of 1 to 80 GiB until this part of each GPU is used, and returns the new ones.
func (f *fleet) fill(part float64) []occupant {
	before := len(f.occupants)
	target := growth.MiB(part*float64(gpuMemory/growth.GiB)) * growth.GiB
	for n := range f.nodes {
		for g := range gpusPerNode {
			for f.used[n][g] < target {
				size := growth.MiB(1+f.random.IntN(80)) * growth.GiB
				f.place(n, g, min(size, target-f.used[n][g]))
			}
		}
	}
	return f.occupants[before:]
}

// scatter adds jobs on random GPUs with room for them, and returns the new ones.
func (f *fleet) scatter(jobs int) []occupant {
	before := len(f.occupants)
	for len(f.occupants) < before+jobs {
		n, g, size := f.random.IntN(len(f.nodes)), f.random.IntN(gpusPerNode), growth.MiB(1+f.random.IntN(80))*growth.GiB
		if f.used[n][g]+size <= gpuMemory {
			f.place(n, g, size)
		}
	}
	return f.occupants[before:]
}

func (f *fleet) place(n, g int, size growth.MiB) {
	f.used[n][g] += size
	i := len(f.occupants)
	f.occupants = append(f.occupants, occupant{
		uid: growth.PodUID(fmt.Sprintf("%08x-0000-4000-8000-%012x", f.random.Uint32(), i)), name: fmt.Sprintf("training-job-%06d", i),
		node: growth.NodeName(f.nodes[n]), gpu: gpuOf(f.nodes[n], g), size: size,
	})
}

func gpuOf(node string, index int) growth.GPU {
	return growth.GPU(fmt.Sprintf("GPU-%s-0000-4000-8000-%012x", node[len(node)-5:], index))
}

// publishInventories writes inventories to the bus, as device plugins do.
func publishInventories(ctx context.Context, b *bus, nodes []string) error {
	return each(ctx, nodes, func(ctx context.Context, node string) error {
		inventory := state.NodeGPUs{Unit: growth.GiB, Resource: gpushare.Resource, Emulated: true}
		for i := range gpusPerNode {
			inventory.GPUs = append(inventory.GPUs, state.GPU{UUID: gpuOf(node, i), Model: "benchmark 80 GiB", Memory: gpuMemory, Healthy: true})
		}
		value, err := state.Encode(inventory)
		if err != nil {
			return err
		}
		_, err = b.Put(ctx, state.GPUsKey(growth.NodeName(node)), value, state.Persistent)
		return err
	})
}

// publishJobs writes allocations and samples to the bus, as device plugins and coordinators do for running jobs.
func publishJobs(ctx context.Context, b *bus, jobs []occupant) error {
	return each(ctx, jobs, func(ctx context.Context, o occupant) error {
		allocation, err := state.Encode(allocationOf(o))
		if err != nil {
			return err
		}
		sample, err := state.Encode(state.Sample{
			Pod: o.ref(), Node: o.node, GPUs: []growth.GPU{o.gpu}, Step: 1200, TotalSteps: 10000, Metric: "loss", Value: 0.42, Reported: true,
			Growth: growth.Growth(float64(o.size%97) / 97), Category: growth.Progressing, CPUUsed: 900, Share: 0.25, CPURequest: 1000,
			SamplesPerSecond: 512, StepSeconds: 0.125, LoadSeconds: 0.02,
		})
		if err != nil {
			return err
		}
		_, err = b.Put(ctx, state.AllocationKey(o.node, o.uid), allocation, state.Persistent)
		_, err2 := b.Put(ctx, state.SampleKey(o.uid), sample, state.Persistent)
		return errors.Join(err, err2)
	})
}

// allocationOf returns the record that the device plugin writes for a job.
func allocationOf(o occupant) state.Allocation {
	units := int(o.size / growth.GiB)
	ids := make([]string, units)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s/%d", o.gpu, i)
	}
	return state.Allocation{Pod: o.ref(), Containers: []state.ContainerAllocation{{
		Name: "train", GPUs: []growth.GPUShare{{GPU: o.gpu, Memory: o.size}}, IDs: ids, Slot: string(o.uid) + "-train",
	}}}
}

// each calls do for all elements, 32 at a time. It stops at the first error and returns it.
func each[T any](ctx context.Context, all []T, do func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan T)
	var workers sync.WaitGroup
	for range 32 {
		workers.Go(func() {
			for item := range work {
				if err := do(ctx, item); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, item := range all {
		if ctx.Err() != nil {
			break
		}
		work <- item
	}
	close(work)
	workers.Wait()
	return context.Cause(ctx)
}
