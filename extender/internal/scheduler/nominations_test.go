package scheduler

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestNominations_CountIsBounded(t *testing.T) {
	var n Nominations
	for i := range 2 * maxNominations {
		n.add(growth.PodUID(strconv.Itoa(i)), nomination{node: "n", at: start})
	}
	require.Len(t, n.byPod, maxNominations)
	require.Len(t, n.order, maxNominations)
	require.Empty(t, n.get(growth.PodUID(strconv.Itoa(maxNominations-1)), start), "the oldest ones are dropped")
	require.Equal(t, "n", n.get(growth.PodUID(strconv.Itoa(maxNominations)), start).node)
	n.add(growth.PodUID(strconv.Itoa(maxNominations)), nomination{node: "m", at: start})
	require.Len(t, n.order, maxNominations, "a pod has one nomination")
	require.Equal(t, "m", n.get(growth.PodUID(strconv.Itoa(maxNominations)), start).node)
	require.Equal(t, "n", n.get(growth.PodUID(strconv.Itoa(maxNominations+1)), start).node, "a replacement drops no other one")
}

func TestNominations_AgeIsBounded(t *testing.T) {
	var n Nominations
	n.add("old", nomination{node: "n", at: start})
	n.add("young", nomination{node: "n", at: start.Add(time.Minute)})
	require.Equal(t, "n", n.get("old", start.Add(maxNominationAge)).node)
	require.Empty(t, n.get("old", start.Add(maxNominationAge+time.Second)))
	require.Equal(t, "n", n.get("young", start.Add(maxNominationAge+time.Second)).node)
	require.Len(t, n.byPod, 1)
	require.Equal(t, []growth.PodUID{"young"}, n.order)
}

func TestNominations_LatestOneCounts(t *testing.T) {
	var n Nominations
	n.add("p", nomination{node: "a", at: start})
	n.add("p", nomination{node: "b", victims: []growth.PodUID{"v"}, at: start})
	require.Equal(t, nomination{node: "b", victims: []growth.PodUID{"v"}, at: start}, n.get("p", start))
	n.delete("p")
	n.delete("p")
	require.Empty(t, n.get("p", start))
}
