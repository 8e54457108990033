package freeze

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
)

const (
	// freezeTimeout bounds the time until all processes of a container have stopped. One that waits in the kernel, such as
	// in a call of the driver, stops later.
	freezeTimeout = 2 * time.Second
	pollPeriod    = 5 * time.Millisecond
)

// Containers finds the cgroups of containers.
type Containers interface {
	// Container returns the folder of a container's cgroup.
	Container(pod growth.PodUID, container string) (string, error)
}

// Freezer freezes containers. It is safe for concurrent use.
type Freezer struct {
	containers Containers
	record     record
	log        *slog.Logger

	mu    sync.Mutex
	known map[string]bool  // folders in the record
	holds map[string]*hold // by container
}

// New returns a freezer below the root of the node's cgroups. folder is the coordinator's private folder, which must exist.
func New(root, folder string, containers Containers, log *slog.Logger) *Freezer {
	return &Freezer{
		containers: containers,
		record:     record{path: filepath.Join(folder, fileName), root: root},
		log:        log,
		known:      map[string]bool{},
		holds:      map[string]*hold{},
	}
}

// ThawAll thaws all containers that this or an earlier coordinator has frozen. It returns the number of those that were
// frozen.
func (f *Freezer) ThawAll() (thawed int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	folders, err := f.record.read()
	for folder := range f.known {
		folders = append(folders, folder)
	}
	var failed []error
	for _, folder := range folders {
		if !frozen(folder) && !asked(folder) {
			continue
		}
		if e := write(folder, "0"); e != nil && !errors.Is(e, fs.ErrNotExist) {
			failed = append(failed, e)
			continue
		}
		thawed++
	}
	return thawed, errors.Join(append(failed, err)...)
}

// freeze stops all processes of a container. If it fails the container is not frozen.
func (f *Freezer) freeze(pod growth.PodUID, container string) error {
	folder, err := f.containers.Container(pod, container)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, "cgroup.freeze")); err != nil {
		return fmt.Errorf("freezing a container of pod %s: %w: the node needs cgroup v2", pod, err)
	}
	if err := f.remember(folder); err != nil {
		return err
	}
	if err := write(folder, "1"); err != nil {
		return fmt.Errorf("freezing a container of pod %s: %w: may this coordinator write to --cgroup-root?", pod, err)
	}
	for deadline := time.Now().Add(freezeTimeout); !frozen(folder); time.Sleep(pollPeriod) {
		if time.Now().After(deadline) {
			return errors.Join(
				fmt.Errorf("freezing a container of pod %s: its processes have not stopped within %s", pod, freezeTimeout),
				write(folder, "0"))
		}
	}
	return nil
}

// thaw continues all processes of a container. A container that has ended is thawed.
func (f *Freezer) thaw(pod growth.PodUID, container string) error {
	folder, err := f.containers.Container(pod, container)
	if err == nil {
		err = write(folder, "0")
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, cgroup.ErrNotFound) {
		return nil
	}
	return err
}

// remember records a folder before it is frozen for the first time.
func (f *Freezer) remember(folder string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known[folder] {
		return nil
	}
	known := []string{folder}
	for other := range f.known {
		if _, err := os.Stat(other); err == nil {
			known = append(known, other)
		} else {
			delete(f.known, other)
		}
	}
	if err := f.record.write(known); err != nil {
		return err
	}
	f.known[folder] = true
	return nil
}

// frozen reports whether all processes of a cgroup have stopped. asked reports whether they should.
func frozen(folder string) bool {
	content, _ := os.ReadFile(filepath.Join(folder, "cgroup.events"))
	return strings.Contains("\n"+string(content), "\nfrozen 1\n")
}

func asked(folder string) bool {
	content, _ := os.ReadFile(filepath.Join(folder, "cgroup.freeze"))
	return strings.TrimSpace(string(content)) == "1"
}

// write writes to an existing cgroup.freeze.
func write(folder, value string) error {
	file, err := os.OpenFile(filepath.Join(folder, "cgroup.freeze"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}
