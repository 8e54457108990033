package slot_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
)

func TestSetOwner_SurvivesRestart(t *testing.T) {
	dir, ids := t.TempDir(), []string{"A/0", "A/1"}
	name := slice.Slot(ids)
	store, err := slot.Open(dir)
	require.NoError(t, err)
	require.Error(t, store.SetOwner("../other", slot.Owner{}), "not a slot")
	_, err = store.Ensure(ids)
	require.NoError(t, err)
	owner := slot.Owner{
		Pod:       growth.PodRef{Namespace: "team", Name: "vae", UID: "u-1"},
		Container: "train",
		Boot:      "b-1",
		Started:   time.Unix(60, 0).UTC(),
	}
	require.NoError(t, store.SetOwner(name, owner))
	again := owner
	again.Started = time.Unix(90, 0).UTC()
	require.NoError(t, store.SetOwner(name, again), "a restarted container is the same owner")
	_, err = store.Ensure(ids)
	require.NoError(t, err)

	for _, s := range []func() (*slot.Store, error){
		func() (*slot.Store, error) { return store, nil },
		func() (*slot.Store, error) { return slot.Open(dir) },
	} {
		opened, err := s()
		require.NoError(t, err)
		dirs, err := opened.List()
		require.NoError(t, err)
		require.Len(t, dirs, 1)
		require.Equal(t, owner, dirs[0].Owner)
	}

	require.NoError(t, store.Remove(name))
	_, err = store.Ensure(ids)
	require.NoError(t, err)
	dirs, err := store.List()
	require.NoError(t, err)
	require.False(t, dirs[0].Owner.Known(), "a new slot of the same ids has no owner")
}

func TestList_IgnoresDamagedOwner(t *testing.T) {
	for name, content := range map[string]string{
		"empty":             "",
		"truncated":         `{"pod":{"namespace":"team","name":"vae"`,
		"without a UID":     `{"pod":{"namespace":"team","name":"vae"},"container":"train"}`,
		"without container": `{"pod":{"namespace":"team","name":"vae","uid":"u-1"}}`,
		"another type":      `["team"]`,
	} {
		t.Run(name, func(t *testing.T) {
			store, err := slot.Open(t.TempDir())
			require.NoError(t, err)
			path, err := store.Ensure([]string{"A/0"})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(path, ".owner"), []byte(content), 0o600))
			dirs, err := store.List()
			require.NoError(t, err)
			require.Equal(t, slot.Owner{}, dirs[0].Owner)
		})
	}
}
