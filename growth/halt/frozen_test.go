package halt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/halt"
)

func requireOrder(t *testing.T, f *halt.Frozen, wanted, id string, freeze bool) {
	t.Helper()
	got, order, due := f.Next(wanted)
	require.True(t, due)
	require.Equal(t, id, got)
	require.Equal(t, freeze, order)
}

func requireNone(t *testing.T, f *halt.Frozen, wanted string) {
	t.Helper()
	_, _, due := f.Next(wanted)
	require.False(t, due)
}

func TestFrozen_FreezesAndThawsOnce(t *testing.T) {
	var f halt.Frozen
	requireNone(t, &f, "")
	requireOrder(t, &f, "c1", "c1", true)
	requireNone(t, &f, "c1")
	f.Answered("c1", true, "")
	require.True(t, f.Is("c1"))
	requireNone(t, &f, "c1")
	requireOrder(t, &f, "", "c1", false)
	require.True(t, f.Is("c1"), "until the answer")
	f.Answered("c1", false, "")
	require.False(t, f.Is("c1"))
	requireNone(t, &f, "")
}

func TestFrozen_AWishThatChangesMeanwhileWaitsForTheAnswer(t *testing.T) {
	var f halt.Frozen
	requireOrder(t, &f, "c1", "c1", true)
	requireNone(t, &f, "")
	f.Answered("c0", true, "")
	requireNone(t, &f, "")
	f.Answered("c1", true, "")
	requireOrder(t, &f, "", "c1", false)
}

func TestFrozen_IsNotTriedAgainInThisPause(t *testing.T) {
	var f halt.Frozen
	requireOrder(t, &f, "c1", "c1", true)
	f.Answered("c1", false, "its processes have not stopped")
	require.Equal(t, "its processes have not stopped", f.Failed())
	requireNone(t, &f, "c1")
	requireNone(t, &f, "")
	requireOrder(t, &f, "c1", "c1", true)
}

func TestFrozen_AFailedThawIsRepeated(t *testing.T) {
	var f halt.Frozen
	requireOrder(t, &f, "c1", "c1", true)
	f.Answered("c1", true, "")
	requireOrder(t, &f, "", "c1", false)
	f.Answered("c1", true, "the kernel refuses")
	requireOrder(t, &f, "", "c1", false)
}

func TestFrozen_FollowsARestartOfTheContainer(t *testing.T) {
	var f halt.Frozen
	requireOrder(t, &f, "c1", "c1", true)
	f.Answered("c1", true, "")
	require.False(t, f.Is("c2"))
	requireOrder(t, &f, "c2", "c2", true)
}

func TestFrozen_LeavesThawed(t *testing.T) {
	var f halt.Frozen
	_, due := f.Leave()
	require.False(t, due)
	requireOrder(t, &f, "c1", "c1", true)
	id, due := f.Leave()
	require.True(t, due, "the open order is carried out before this one")
	require.Equal(t, "c1", id)
}
