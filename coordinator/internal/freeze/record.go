package freeze

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// fileName is the name of the record, in the coordinator's private folder.
	fileName = "frozen.json"
	// maxFolders and maxFile bound the record.
	maxFolders, maxFile = 4096, 1 << 20
	version             = 1
)

// record is the file with the cgroups that a coordinator has frozen at any time.
type record struct {
	path string
	root string // of the node's cgroups
}

type content struct {
	Version int `json:"v"`
	// Cgroups are paths below the root.
	Cgroups []string `json:"cgroups"`
}

// read returns the folders. A path that is not below the root is ignored.
func (r record) read() ([]string, error) {
	file, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading which containers were frozen: %w", err)
	}
	defer func() { _ = file.Close() }()
	var c content
	if err := json.NewDecoder(io.LimitReader(file, maxFile)).Decode(&c); err != nil {
		return nil, fmt.Errorf("reading which containers were frozen: %s: %w", r.path, err)
	}
	var folders []string
	for _, path := range c.Cgroups[:min(len(c.Cgroups), maxFolders)] {
		if filepath.IsLocal(path) && path != "." {
			folders = append(folders, filepath.Join(r.root, path))
		}
	}
	return folders, nil
}

// write replaces the file atomically, and returns once it is on the disk.
func (r record) write(folders []string) error {
	c := content{Version: version}
	for _, folder := range folders {
		path, err := filepath.Rel(r.root, folder)
		if err != nil || !filepath.IsLocal(path) {
			return fmt.Errorf("recording that a container is frozen: %s is not below %s", folder, r.root)
		}
		c.Cgroups = append(c.Cgroups, path)
	}
	encoded, err := json.Marshal(c)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(r.path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("recording that a container is frozen: %w", err)
	}
	_, err = file.Write(encoded)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(r.path+".new", r.path)
	}
	if err != nil {
		return fmt.Errorf("recording that a container is frozen: %w", err)
	}
	return nil
}
