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
	// maxFile bounds what is read back: the ids of several large GPUs.
	maxFile = 1 << 20
)

// Folder is a slot as it lies on disk.
type Folder struct {
	Name string
	// IDs are the device ids it was made for. Empty where the folder does not say, or says what does not fit its name.
	IDs []string
	// Modified is when it was last handed out or written to.
	Modified time.Time
}

// Store is the folder of slots.
type Store struct {
	root string
	shim []byte

	mu        sync.Mutex
	idsByName map[string][]string // the ids that slots said when they were last listed: a slot's never change
}

// Open makes the folder of slots below the state folder.
func Open(stateDir string) (*Store, error) {
	root := filepath.Join(stateDir, gpushare.SlotsDir)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of slots: %w", err)
	}
	if err := os.Chmod(root, 0o711); err != nil { // a slot's name is a secret of its job: nobody else lists them
		return nil, fmt.Errorf("closing the folder of slots: %w", err)
	}
	return &Store{root: root, shim: shim.Source()}, nil
}

// Ensure makes the slot of a set of ids and returns its path. Made already, it is only marked as handed out anew.
func (s *Store) Ensure(ids []string) (string, error) {
	folder := filepath.Join(s.root, slice.Slot(ids))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("making a slot: %w", err)
	}
	if err := os.Chmod(folder, 0o755); err != nil { // whatever the umask is: jobs run as any user
		return "", fmt.Errorf("opening a slot to its job: %w", err)
	}
	list := strings.Join(slices.Sorted(slices.Values(ids)), "\n") + "\n"
	if err := writeAtomically(filepath.Join(folder, idsFile), []byte(list), 0o600); err != nil {
		return "", err
	}
	if err := s.linkShim(filepath.Join(folder, shim.FileName)); err != nil {
		return "", err
	}
	now := time.Now()
	if err := os.Chtimes(folder, now, now); err != nil {
		return "", fmt.Errorf("marking a slot: %w", err)
	}
	return folder, nil
}

// linkShim links the shim into a slot, in one step. All slots share one file, which their containers can not write to: tens of
// KiB to write for each container are what a disk makes kubelet wait for.
func (s *Store) linkShim(path string) error {
	if hasContent(path, s.shim) {
		return nil
	}
	shared := filepath.Join(s.root, shim.FileName)
	if err := writeAtomically(shared, s.shim, 0o644); err != nil {
		return err
	}
	linked := path + ".new"
	_ = os.Remove(linked) // of a plugin that was killed
	if err := os.Link(shared, linked); err != nil {
		return writeAtomically(path, s.shim, 0o644) // a file has so many links at most, and some filesystems know none
	}
	if err := os.Rename(linked, path); err != nil {
		return fmt.Errorf("lending %s: %w", path, err)
	}
	return nil
}

// writeAtomically writes a file in one step: a job that imports it at this moment sees the old one or the new one.
func writeAtomically(path string, content []byte, mode os.FileMode) error {
	if hasContent(path, content) {
		return nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // gone already where all went well
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

// hasContent tells whether a file is there with just that content.
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

// List returns all slots on disk. What is no slot is left out.
func (s *Store) List() ([]Folder, error) {
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return nil, fmt.Errorf("listing slots: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	previous := s.idsByName
	s.idsByName = make(map[string][]string, len(entries))
	var folders []Folder
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
		folders = append(folders, Folder{Name: entry.Name(), IDs: ids, Modified: info.ModTime()})
	}
	return folders, nil
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

// Exists tells whether the slot of these ids was handed out before.
func (s *Store) Exists(ids []string) bool {
	return s.ids(slice.Slot(ids)) != nil
}

// Remove deletes a slot with all that is in it.
func (s *Store) Remove(name string) error {
	if !slice.IsSlot(name) {
		return fmt.Errorf("%q is no slot", name)
	}
	if err := os.RemoveAll(filepath.Join(s.root, name)); err != nil {
		return fmt.Errorf("removing a slot: %w", err)
	}
	return nil
}
