package gpuhealth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// MemoryFile is what a plugin leaves for the next one, in the state folder. Removing it forgives every GPU.
	MemoryFile = "gpu-faults.json"
	maxMemory  = 1 << 20
)

// memory is the file's content. Faults of an earlier boot are over: booting resets every GPU.
type memory struct {
	Boot   string               `json:"boot"`
	Faults map[growth.GPU]Fault `json:"faults"`
}

// Memory is where faults are kept over a restart of the plugin.
type Memory struct {
	// Dir is the state folder, BootID the kernel's file with the name of this boot.
	Dir, BootID string
}

// Load returns the faults of this boot.
func (k Memory) Load() (map[growth.GPU]Fault, error) {
	file, err := os.Open(filepath.Join(k.Dir, MemoryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading earlier faults: %w", err)
	}
	defer func() { _ = file.Close() }()
	var m memory
	if info, err := file.Stat(); err != nil || info.Size() > maxMemory {
		return nil, fmt.Errorf("reading earlier faults: %s is no file of ours: remove it", file.Name())
	}
	if err := json.NewDecoder(file).Decode(&m); err != nil {
		return nil, fmt.Errorf("reading earlier faults: %s: %w: remove it", file.Name(), err)
	}
	if m.Boot != k.boot() {
		return nil, nil
	}
	return m.Faults, nil
}

// Save replaces the file in one step.
func (k Memory) Save(faults map[growth.GPU]Fault) error {
	content, err := json.Marshal(memory{Boot: k.boot(), Faults: faults})
	if err != nil {
		return fmt.Errorf("keeping faults: %w", err)
	}
	path := filepath.Join(k.Dir, MemoryFile)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("keeping faults: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("keeping faults: %w", err)
	}
	return nil
}

// boot names this boot; empty where the kernel does not say.
func (k Memory) boot() string {
	id, err := os.ReadFile(k.BootID)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
