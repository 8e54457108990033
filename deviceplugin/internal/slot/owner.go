package slot

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

const ownerFile = ".owner"

// Owner is the container that last started with a slot. It survives restarts of kubelet, of the plugin and of the bus.
type Owner struct {
	Pod       growth.PodRef `json:"pod"`
	Container string        `json:"container"`
	// Boot identifies the boot of the machine in which the container started.
	Boot string `json:"boot,omitempty"`
	// Started is when the container last started, or was first seen.
	Started time.Time `json:"started"`
}

// Known reports whether the owner is known.
func (o Owner) Known() bool { return o.Pod.UID != "" && o.Container != "" }

// sameContainer reports whether two owners are one container in one boot.
func (o Owner) sameContainer(other Owner) bool {
	return o.Pod == other.Pod && o.Container == other.Container && o.Boot == other.Boot
}

// SetOwner records the container that a slot belongs to.
func (s *Store) SetOwner(name string, owner Owner) error {
	if !slice.IsSlot(name) {
		return fmt.Errorf("%q is not a slot", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner(name).sameContainer(owner) {
		return nil
	}
	content, err := json.Marshal(owner)
	if err != nil {
		return fmt.Errorf("recording the owner of a slot: %w", err)
	}
	if err := writeAtomically(filepath.Join(s.root, name, ownerFile), content, 0o600); err != nil {
		return err
	}
	s.owners[name] = owner
	return nil
}

// owner returns the recorded owner; zero if there is none or its file is invalid. The caller holds the mutex.
func (s *Store) owner(name string) Owner {
	if owner, cached := s.owners[name]; cached {
		return owner
	}
	var owner Owner
	content, err := read(filepath.Join(s.root, name, ownerFile))
	if err != nil || json.Unmarshal(content, &owner) != nil || !owner.Known() {
		owner = Owner{}
	}
	s.owners[name] = owner
	return owner
}
