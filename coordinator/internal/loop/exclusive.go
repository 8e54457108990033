package loop

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// readExclusive finds out which pods have cores of their own. A Guaranteed container with a whole number of cores has
// them if its cgroup is bound to exactly as many CPUs. Without kubelet's static CPU manager, containers are not bound.
func (l *Loop) readExclusive() {
	cores := map[growth.PodUID]int{}
	for pod, containers := range l.pinned {
		for _, c := range containers {
			if cpus, bound := l.ports.Usages.CPUs(pod, c.ID); bound && cpus == c.Cores {
				cores[pod] += c.Cores
			}
		}
	}
	l.step(node.ExclusiveChanged{Cores: cores})
}
