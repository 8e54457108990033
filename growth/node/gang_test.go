package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// TestSample_NamesTheGang: pods of a distributed job have the same name of their job on all nodes.
func TestSample_NamesTheGang(t *testing.T) {
	member := func(p *node.Pod) { p.Owner, p.Command = "job-1", "train" }
	launched := func(p *node.Pod) { member(p); p.Distributed = true }
	rank := func(n, worldSize int) wire.Progress {
		return wire.Progress{Step: 1, Steps: 1, Process: wire.Process{Rank: &n, WorldSize: worldSize}}
	}
	gangs := func(t *testing.T, shape func(*node.Pod), reports ...wire.Progress) (names []string) {
		in(t, policy.Fair, func(t *testing.T, w *harness) {
			pods := []string{"a", "b"}[:len(reports)]
			for i, name := range pods {
				w.arrive(name)
				pod := w.pods[ref(name).UID]
				shape(&pod)
				w.apply(pod)
				w.send(name, reports[i])
			}
			w.pass(interval)
			for _, name := range pods {
				names = append(names, w.sample(name).Gang)
			}
		})
		return names
	}
	name := gangs(t, launched, rank(0, 2))[0]
	require.Regexp(t, "^[0-9a-f]{16}$", name)
	require.Equal(t, []string{name}, gangs(t, launched, rank(1, 2)), "another rank, such as that on another node")
	require.Equal(t, []string{name}, gangs(t, member, rank(1, 2)), "the world size is larger than the pod")
	require.Equal(t, []string{name, name}, gangs(t, launched, rank(0, 4), rank(1, 4)), "two pods on one node")
	require.Equal(t, []string{""}, gangs(t, member, rank(0, 1)), "one process")
	require.Equal(t, []string{"", ""}, gangs(t, launched, rank(0, 2), rank(0, 2)), "two pods with the same rank are two jobs")
	require.Equal(t, []string{""}, gangs(t, func(*node.Pod) {}, rank(0, 2)), "no owner")
	require.NotEqual(t, name, gangs(t, func(p *node.Pod) { launched(p); p.Command = "other" }, rank(0, 2))[0])
}
