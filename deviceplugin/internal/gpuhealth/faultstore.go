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
	// FaultFile is the file of faults in the state directory. Removing it clears all faults.
	FaultFile    = "gpu-faults.json"
	maxFaultFile = 1 << 20
)

// faultFile is the file's content. Faults of an earlier boot are ignored, because booting resets every GPU.
type faultFile struct {
	Boot   string               `json:"boot"`
	Faults map[growth.GPU]Fault `json:"faults"`
}

// FaultStore keeps faults over a restart of the plugin.
type FaultStore struct {
	// Dir is the state directory; BootID is the kernel's file with the id of this boot.
	Dir, BootID string
}

// Load returns the faults of this boot. An empty file, such as a loss of power leaves of a write that was not complete, has none.
func (k FaultStore) Load() (map[growth.GPU]Fault, error) {
	file, err := os.Open(filepath.Join(k.Dir, FaultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading earlier faults: %w", err)
	}
	defer func() { _ = file.Close() }()
	var m faultFile
	info, err := file.Stat()
	if err != nil || info.Size() > maxFaultFile {
		return nil, fmt.Errorf("reading earlier faults: %s is not a file of this program: remove it", file.Name())
	}
	if info.Size() == 0 {
		return nil, nil
	}
	if err := json.NewDecoder(file).Decode(&m); err != nil {
		return nil, fmt.Errorf("reading earlier faults: %s: %w: remove it", file.Name(), err)
	}
	if m.Boot != k.currentBoot() {
		return nil, nil
	}
	return m.Faults, nil
}

// Save replaces the file atomically, and returns once it is on the disk.
func (k FaultStore) Save(faults map[growth.GPU]Fault) error {
	content, err := json.Marshal(faultFile{Boot: k.currentBoot(), Faults: faults})
	if err != nil {
		return fmt.Errorf("storing faults: %w", err)
	}
	path := filepath.Join(k.Dir, FaultFile)
	err = writeThrough(path+".new", content)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err == nil {
		err = syncFolder(k.Dir) // the new name
	}
	if err != nil {
		return fmt.Errorf("storing faults: %w", err)
	}
	return nil
}

// writeThrough writes a file to the disk. Otherwise a rename may reach the disk before the content.
func writeThrough(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// currentBoot returns the id of this boot, or an empty string if it is unknown.
func (k FaultStore) currentBoot() string {
	id, err := os.ReadFile(k.BootID)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
