package contract_test

import (
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/kubelettest"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet/contract"
)

func TestContract(t *testing.T) {
	contract.Run(t, func(t *testing.T) contract.Kubelet {
		k, err := kubelettest.Start()
		require.NoError(t, err)
		t.Cleanup(k.Close)
		return contract.Kubelet{
			PluginDir:    k.Dir,
			PodResources: k.PodResources,
			Restart:      func() { require.NoError(t, k.Restart()) },
			LoseCheckpoint: func(contract.CheckpointFault) {
				require.NoError(t, k.LoseCheckpoint()) // the fake has no file
			},
			Pods: &pods{
				t:       t,
				kubelet: k,
				all:     map[string]*kubelettest.Pod{},
				running: map[string]bool{},
			},
			NodeStatus: func(string) (capacity, allocatable int) { return k.Capacity(), k.Allocatable() },
		}
	})
}

// pods fakes the rest of kubelet: containers run once they have been started.
type pods struct {
	t       *testing.T
	kubelet *kubelettest.Kubelet

	mu      sync.Mutex
	all     map[string]*kubelettest.Pod
	running map[string]bool // by pod/container
}

func (p *pods) Start(pod contract.Pod) error {
	made := &kubelettest.Pod{Namespace: contract.Namespace, Name: pod.Name}
	for _, c := range pod.Containers {
		made.Containers = append(made.Containers, &kubelettest.Container{
			Name:  c.Name,
			Units: c.Units,
			Init:  c.Kind == contract.Init,
		})
	}
	if err := p.kubelet.Admit(p.t.Context(), made); err != nil {
		return err
	}
	p.mu.Lock()
	p.all[pod.Name] = made
	p.mu.Unlock()
	for _, c := range made.Containers {
		p.start(made, c)
	}
	return nil
}

// start retries like kubelet until the plugin succeeds.
func (p *pods) start(pod *kubelettest.Pod, c *kubelettest.Container) {
	var failures []error
	for len(failures) < 3 {
		err := p.kubelet.StartContainer(p.t.Context(), c)
		if err == nil {
			p.set(pod.Name, c.Name, !c.Init)
			return
		}
		failures = append(failures, err)
	}
	require.NoError(p.t, errors.Join(failures...))
}

func (p *pods) set(pod, container string, runs bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[pod+"/"+container] = runs
}

func (p *pods) find(pod, container string) (*kubelettest.Pod, *kubelettest.Container) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.all[pod].Containers {
		if c.Name == container {
			return p.all[pod], c
		}
	}
	return nil, nil
}

func (p *pods) End(pod string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kubelet.Remove(p.all[pod])
}

func (p *pods) EndAsync(pod string) {
	p.kubelet.DuringAllocate(func() { p.End(pod) })
}

func (p *pods) Kill(pod, container string) {
	p.set(pod, container, false)
	p.start(p.find(pod, container))
}

func (p *pods) Inspect(pod, container string) (contract.View, bool) {
	p.mu.Lock()
	runs := p.running[pod+"/"+container]
	p.mu.Unlock()
	if !runs {
		return contract.View{}, false
	}
	_, c := p.find(pod, container)
	view := contract.View{Environment: c.Env}
	for _, mount := range c.Mounts {
		if mount.GetContainerPath() != contract.MountPath {
			continue
		}
		files, err := os.ReadDir(mount.GetHostPath())
		require.NoError(p.t, err)
		for _, f := range files {
			view.Files = append(view.Files, f.Name())
		}
	}
	return view, true
}
