package slot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/trellis-gpu/trellis/growth/shim"
)

// linkShim atomically links the shim into a slot. All slots share one file, which containers cannot modify: writing
// tens of KiB per container would make kubelet wait for the disk.
func (s *Store) linkShim(path string) error {
	if hasContent(path, s.shim) {
		return nil
	}
	shared := filepath.Join(s.root, shim.FileName)
	if err := writeAtomically(shared, s.shim, 0o644); err != nil {
		return err
	}
	linked := path + ".new"
	_ = os.Remove(linked) // left by a killed plugin
	if err := os.Link(shared, linked); err != nil {
		return writeAtomically(path, s.shim, 0o644) // the limit of links is reached, or the filesystem has no links
	}
	if err := os.Rename(linked, path); err != nil {
		return fmt.Errorf("linking %s: %w", path, err)
	}
	return nil
}

// writeAtomically replaces a file: a reader sees the old content or the new content.
func writeAtomically(path string, content []byte, mode os.FileMode) error {
	if hasContent(path, content) {
		return nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // already renamed on success
	_, err = temporary.Write(content)
	if err == nil {
		err = temporary.Chmod(mode)
	}
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// hasContent reports whether the file exists with exactly this content.
func hasContent(path string, content []byte) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	var piece [8 << 10]byte
	for {
		n, err := file.Read(piece[:])
		if n > len(content) || !bytes.Equal(piece[:n], content[:n]) {
			return false
		}
		content = content[n:]
		if err != nil {
			return errors.Is(err, io.EOF) && len(content) == 0
		}
	}
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, maxFile))
}
