package slot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/shim"
)

// Each change comes after a container that has moved with a checkpoint.
func TestSetCheckpoint(t *testing.T) {
	hash := strings.Repeat("0f", 32)
	first := &gpushare.Saved{Path: "/ckpt/a.pt", Step: 41, SHA256: hash}
	for name, tc := range map[string]struct {
		change func(s *slot.Store, ids []string) error
		want   string // "" if there is no file
	}{
		"nothing": {
			func(*slot.Store, []string) error { return nil },
			`{"v":1,"path":"/ckpt/a.pt","step":41,"sha256":"` + hash + `"}` + "\n",
		},
		"another move": {
			func(s *slot.Store, ids []string) error {
				return s.SetCheckpoint(slice.Slot(ids), &gpushare.Saved{Path: "s3://bucket/a.pt", Step: 60, SHA256: hash})
			},
			`{"v":1,"path":"s3://bucket/a.pt","step":60,"sha256":"` + hash + `"}` + "\n",
		},
		"a container that has not moved": {
			func(s *slot.Store, ids []string) error { return s.SetCheckpoint(slice.Slot(ids), nil) }, "",
		},
		"an allocation, whose container is not known yet": {
			func(s *slot.Store, ids []string) error {
				_, err := s.Ensure(ids)
				return err
			}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := slot.Open(t.TempDir())
			require.NoError(t, err)
			ids := []string{"A/0", "A/1"}
			folder, err := store.Ensure(ids)
			require.NoError(t, err)
			require.NoError(t, store.SetCheckpoint(slice.Slot(ids), first))
			require.NoError(t, tc.change(store, ids))
			path := filepath.Join(folder, shim.CheckpointFile)
			if tc.want == "" {
				require.NoFileExists(t, path)
				return
			}
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, tc.want, string(content))
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o644), info.Mode().Perm(), "a job of any user reads it")
		})
	}
}

func TestSetCheckpoint_RejectsNamesOutsideTheFolder(t *testing.T) {
	store, err := slot.Open(t.TempDir())
	require.NoError(t, err)
	require.ErrorContains(t, store.SetCheckpoint("../other", nil), "is not a slot")
}
