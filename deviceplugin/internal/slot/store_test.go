package slot_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth/shim"
)

func TestEnsure_CreatesSlotWithShim(t *testing.T) {
	dir := t.TempDir()
	store, err := slot.Open(dir)
	require.NoError(t, err)
	ids := []string{"A/1", "A/0"}
	require.False(t, store.Exists(ids))
	path, err := store.Ensure(ids)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "slots", slice.Slot(ids)), path)
	require.True(t, store.Exists([]string{"A/0", "A/1"}))

	source, err := os.ReadFile(filepath.Join(path, shim.FileName))
	require.NoError(t, err)
	require.Equal(t, shim.Source(), source)
	for file, want := range map[string]os.FileMode{"": 0o755, shim.FileName: 0o644, "..": 0o711, ".ids": 0o600} {
		info, err := os.Stat(filepath.Join(path, file))
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), "a job of any user reads its own slot and cannot list others: %q",
			file)
	}
}

func TestEnsure_KeepsMountedFolder(t *testing.T) {
	store, err := slot.Open(t.TempDir())
	require.NoError(t, err)
	path, err := store.Ensure([]string{"A/1"})
	require.NoError(t, err)
	before, err := os.Stat(path)
	require.NoError(t, err)
	socket := filepath.Join(path, "gpushare.sock")
	require.NoError(t, os.WriteFile(socket, nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(path, shim.FileName), []byte("an older shim"), 0o600))
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))

	second, err := store.Ensure([]string{"A/1"})
	require.NoError(t, err)
	require.Equal(t, path, second)
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))
	require.FileExists(t, socket)
	source, err := os.ReadFile(filepath.Join(path, shim.FileName))
	require.NoError(t, err)
	require.Equal(t, shim.Source(), source, "a newer plugin brings a newer shim")

	dirs, err := store.List()
	require.NoError(t, err)
	require.Len(t, dirs, 1)
	require.Equal(t, []string{"A/1"}, dirs[0].IDs)
	require.WithinDuration(t, time.Now(), dirs[0].Modified, time.Minute, "marked again")
}

// TestEnsure_SharesShimBetweenSlots also damages the shared file: the next Ensure of each slot repairs it.
func TestEnsure_SharesShimBetweenSlots(t *testing.T) {
	store, err := slot.Open(t.TempDir())
	require.NoError(t, err)
	var infos []os.FileInfo
	var paths []string
	for _, id := range []string{"A/1", "A/2"} {
		dir, err := store.Ensure([]string{id})
		require.NoError(t, err)
		paths = append(paths, filepath.Join(dir, shim.FileName))
		info, err := os.Stat(paths[len(paths)-1])
		require.NoError(t, err)
		infos = append(infos, info)
	}
	require.True(t, os.SameFile(infos[0], infos[1]))

	require.NoError(t, os.WriteFile(paths[0], []byte("spoilt"), 0o600))
	for _, id := range []string{"A/1", "A/2"} {
		_, err := store.Ensure([]string{id})
		require.NoError(t, err)
	}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, shim.Source(), source)
	}
}

func TestStore_ListsAndRemovesOnlySlots(t *testing.T) {
	dir := t.TempDir()
	store, err := slot.Open(dir)
	require.NoError(t, err)
	path, err := store.Ensure([]string{"A/1"})
	require.NoError(t, err)
	other := filepath.Join(dir, "slots", "not-a-slot")
	require.NoError(t, os.Mkdir(other, 0o755))

	require.NoError(t, os.WriteFile(filepath.Join(path, ".ids"), []byte("B/7\n"), 0o600))
	dirs, err := store.List()
	require.NoError(t, err)
	require.Len(t, dirs, 1)
	require.Empty(t, dirs[0].IDs, "ids that do not match the name are ignored")

	for _, name := range []string{"", ".", "..", "not-a-slot", "../slots"} {
		require.Error(t, store.Remove(name), name)
	}
	require.NoError(t, store.Remove(dirs[0].Name))
	require.NoDirExists(t, path)
	require.DirExists(t, other)
}
