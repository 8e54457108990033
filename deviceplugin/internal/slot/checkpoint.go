package slot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/shim"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// SetCheckpoint puts what a job has saved before it moved into its slot. nil removes what an earlier container had there.
func (s *Store) SetCheckpoint(name string, saved *gpushare.Saved) error {
	if !slice.IsSlot(name) {
		return fmt.Errorf("%q is not a slot", name)
	}
	path := filepath.Join(s.root, name, shim.CheckpointFile)
	if saved == nil {
		return removeCheckpoint(path)
	}
	content, err := shim.Checkpoint{
		Version: wire.Version,
		Path:    saved.Path,
		Step:    saved.Step,
		SHA256:  saved.SHA256,
	}.Encode()
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := writeAtomically(path, content, 0o644); err != nil {
		return err
	}
	s.share(path)
	return nil
}

func removeCheckpoint(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the checkpoint of an earlier container: %w", err)
	}
	return nil
}
