package gang_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gang"
)

func TestWindow(t *testing.T) {
	var all []gang.Gang
	for i := range 5 {
		all = append(all, job(fmt.Sprintf("g%d", i), start.Add(time.Duration(i)), 2, 4, "a"))
	}
	holding := job("held", start.Add(time.Hour), 2, 4, "a")
	holding.State.Held = start
	reserved := job("reserved", start.Add(time.Hour), 2, 4, "a")
	reserved.Pods[1].Node = "a"
	var last gang.Gang
	pass := func(n int, gangs ...gang.Gang) (names []string) {
		var chosen []gang.Gang
		chosen, last = gang.Window(gangs, last, n)
		for _, g := range chosen {
			names = append(names, g.Name)
		}
		return names
	}
	require.Empty(t, pass(2))
	require.Equal(t, []string{"g0", "g1"}, pass(2, all...))
	require.Equal(t, []string{"g2", "g3"}, pass(2, all...))
	require.Equal(t, []string{"g4", "g0"}, pass(2, all...), "from the beginning")
	require.Equal(t, []string{"held", "reserved", "g2", "g3"}, pass(2, append(all[2:], holding, reserved)...),
		"what holds room does not wait for its turn, and earlier gangs are gone")
	require.Equal(t, []string{"g4", "g0", "g1", "g2", "g3"}, pass(9, all...), "each of them once")
	require.Equal(t, []string{"g0"}, pass(1, all[0]), "none is later than the last one")
}
