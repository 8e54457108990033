package slot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/shim"
)

const (
	idsFile = ".ids"
	// maxFile bounds the file of ids.
	maxFile = 1 << 20
)

// Dir is a slot on disk.
type Dir struct {
	Name string
	// IDs are the slot's device ids; empty if the file of ids is missing or does not match the name.
	IDs []string
	// Modified is the time of the last Ensure or write.
	Modified time.Time
}

// Store manages the slots below one directory.
type Store struct {
	root string
	shim []byte

	mu        sync.Mutex
	idsByName map[string][]string // the ids found by the last List; the ids of a slot never change
}

// Open creates the directory of slots below the state directory.
func Open(stateDir string) (*Store, error) {
	root := filepath.Join(stateDir, gpushare.SlotsDir)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("creating the directory of slots: %w", err)
	}
	if err := os.Chmod(root, 0o711); err != nil { // jobs must not list the slots of others
		return nil, fmt.Errorf("protecting the directory of slots: %w", err)
	}
	return &Store{root: root, shim: shim.Source()}, nil
}

// Ensure creates the slot of a set of ids and returns its path. An existing slot only gets a new modification time.
func (s *Store) Ensure(ids []string) (string, error) {
	dir := filepath.Join(s.root, slice.Slot(ids))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("creating a slot: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // independent of the umask: jobs run as any user
		return "", fmt.Errorf("opening a slot to its job: %w", err)
	}
	list := strings.Join(slices.Sorted(slices.Values(ids)), "\n") + "\n"
	if err := writeAtomically(filepath.Join(dir, idsFile), []byte(list), 0o600); err != nil {
		return "", err
	}
	if err := s.linkShim(filepath.Join(dir, shim.FileName)); err != nil {
		return "", err
	}
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err != nil {
		return "", fmt.Errorf("marking a slot: %w", err)
	}
	return dir, nil
}

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

// List returns all slots on disk and ignores other entries.
func (s *Store) List() ([]Dir, error) {
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return nil, fmt.Errorf("listing slots: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	previous := s.idsByName
	s.idsByName = make(map[string][]string, len(entries))
	var dirs []Dir
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || !slice.IsSlot(entry.Name()) {
			continue
		}
		ids, cached := previous[entry.Name()]
		if !cached {
			ids = s.ids(entry.Name())
		}
		if ids != nil {
			s.idsByName[entry.Name()] = ids
		}
		dirs = append(dirs, Dir{Name: entry.Name(), IDs: ids, Modified: info.ModTime()})
	}
	return dirs, nil
}

func (s *Store) ids(name string) []string {
	content, err := read(filepath.Join(s.root, name, idsFile))
	if err != nil {
		return nil
	}
	ids := strings.Fields(string(content))
	if slice.Slot(ids) != name {
		return nil
	}
	return ids
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// Exists reports whether the slot of these ids exists.
func (s *Store) Exists(ids []string) bool {
	return s.ids(slice.Slot(ids)) != nil
}

// Remove deletes a slot and its contents.
func (s *Store) Remove(name string) error {
	if !slice.IsSlot(name) {
		return fmt.Errorf("%q is no slot", name)
	}
	if err := os.RemoveAll(filepath.Join(s.root, name)); err != nil {
		return fmt.Errorf("removing a slot: %w", err)
	}
	return nil
}
