package slot

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trellis-gpu/trellis/daemon/selinux"
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
	// Owner is the container that the slot belongs to; zero until it is known.
	Owner Owner
	// Modified is the time of the last Ensure or write.
	Modified time.Time
}

// Store manages the slots below one directory.
type Store struct {
	root   string
	shim   []byte
	labels selinux.Labels // nil without SELinux

	labelErr atomic.Pointer[error] // of the last label

	mu        sync.Mutex
	idsByName map[string][]string // the ids found by the last List; the ids of a slot never change
	owners    map[string]Owner    // as read or written by this process, which is the only writer
}

// Open creates the directory of slots below the state directory.
func Open(stateDir string) (*Store, error) { return open(stateDir, selinux.Kernel()) }

func open(stateDir string, labels selinux.Labels) (*Store, error) {
	root := filepath.Join(stateDir, gpushare.SlotsDir)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("creating the directory of slots: %w", err)
	}
	if err := os.Chmod(root, 0o711); err != nil { // a job must not list other jobs' slots
		return nil, fmt.Errorf("protecting the directory of slots: %w", err)
	}
	return &Store{root: root, shim: shim.Source(), labels: labels, owners: map[string]Owner{}}, nil
}

// Ensure creates the slot of a set of ids and returns its path. An existing slot only gets a new modification time, and loses what
// the job of an earlier container had saved.
func (s *Store) Ensure(ids []string) (string, error) {
	dir := filepath.Join(s.root, slice.Slot(ids))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("creating a slot: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // independent of the umask, because a job may run as any user
		return "", fmt.Errorf("opening a slot to its job: %w", err)
	}
	s.share(dir)
	list := strings.Join(slices.Sorted(slices.Values(ids)), "\n") + "\n"
	if err := writeAtomically(filepath.Join(dir, idsFile), []byte(list), 0o600); err != nil {
		return "", err
	}
	if err := s.linkShim(filepath.Join(dir, shim.FileName)); err != nil {
		return "", err
	}
	s.share(filepath.Join(dir, shim.FileName))
	if err := removeCheckpoint(filepath.Join(dir, shim.CheckpointFile)); err != nil {
		return "", err
	}
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err != nil {
		return "", fmt.Errorf("marking a slot: %w", err)
	}
	return dir, nil
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
		dirs = append(dirs, Dir{
			Name:     entry.Name(),
			IDs:      ids,
			Owner:    s.owner(entry.Name()),
			Modified: info.ModTime(),
		})
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

// Exists reports whether the slot of these ids exists.
func (s *Store) Exists(ids []string) bool {
	return s.ids(slice.Slot(ids)) != nil
}

// Remove deletes a slot and its contents.
func (s *Store) Remove(name string) error {
	if !slice.IsSlot(name) {
		return fmt.Errorf("%q is not a slot", name)
	}
	if err := os.RemoveAll(filepath.Join(s.root, name)); err != nil {
		return fmt.Errorf("removing a slot: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owners, name)
	return nil
}
