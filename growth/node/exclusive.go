package node

import (
	"fmt"
	"maps"

	"github.com/trellis-gpu/trellis/growth"
)

// apply updates the cores that pods have alone. They are in no budget: not in the pool, which has no Guaranteed
// pods, not in the capacity of policy.Harmless, and not in the cores for data-loader workers.
func (e ExclusiveChanged) apply(n *Node) {
	if maps.Equal(e.Cores, n.exclusive) {
		return
	}
	n.log(Info, "exclusive cores changed", "from", fmt.Sprint(n.exclusive), "to", fmt.Sprint(e.Cores))
	n.exclusive = e.Cores
	if len(n.jobs) > 0 {
		n.interrupt("exclusive cores", false)
	}
}

// exclusiveCPU returns the sum of the exclusive cores.
func (n *Node) exclusiveCPU() (sum growth.MilliCPU) {
	for _, cores := range n.exclusive {
		sum += growth.MilliCPU(cores) * growth.Core
	}
	return sum
}
