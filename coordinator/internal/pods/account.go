package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth"
)

// Account is what a pod of any kind takes of the node's CPU.
type Account struct {
	// CPU is the request that the scheduler accounts.
	CPU growth.MilliCPU
	// Pinned are the running containers that may have cores of their own.
	Pinned []Pinned
}

func (a Account) equal(b Account) bool { return a.CPU == b.CPU && slices.Equal(a.Pinned, b.Pinned) }

// account returns the account of a pod.
func account(p *corev1.Pod) Account {
	a := Account{CPU: Accounted(p)}
	if a.CPU > 0 {
		a.Pinned = slices.DeleteFunc(pinned(p), func(c Pinned) bool { return c.ID == "" })
	}
	return a
}

// accounts passes accounts that have changed to a sink.
type accounts struct {
	sink Sink
	last map[growth.PodUID]Account
}

func (a accounts) set(pod growth.PodUID, now Account) {
	if now.equal(a.last[pod]) {
		return
	}
	if now.equal(Account{}) {
		delete(a.last, pod)
	} else {
		a.last[pod] = now
	}
	a.sink.PodAccounted(pod, now)
}
