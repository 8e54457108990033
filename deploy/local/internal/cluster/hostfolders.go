//go:build linux

package cluster

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/deploy/local/internal/node"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// hostFoldersFile lists the folders that were created on the host as mount points of nodes, one per line. All clusters share
// them, and the last one deletes them.
func hostFoldersFile(root state.Root) string { return filepath.Join(string(root), "host-folders") }

// makeHostFolders creates the mount points that the host lacks. Each is listed in the file before it is created. The caller
// holds the lock of all clusters.
func makeHostFolders(root state.Root) error {
	made := readHostFolders(root)
	for _, folder := range node.HostFolders() {
		if _, err := os.Stat(folder); err == nil {
			continue
		}
		if !slices.Contains(made, folder) {
			made = append(made, folder)
		}
		if err := os.WriteFile(hostFoldersFile(root), []byte(strings.Join(made, "\n")+"\n"), 0o644); err != nil {
			return err
		}
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// removeHostFolders deletes the listed mount points. They are empty: only mounts used them. The caller holds the lock of all
// clusters, and no cluster exists.
func removeHostFolders(root state.Root) error {
	var errs []error
	for _, folder := range readHostFolders(root) {
		if !slices.Contains(node.HostFolders(), folder) {
			continue // not a name that this program writes
		}
		if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := os.Remove(hostFoldersFile(root)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func readHostFolders(root state.Root) []string {
	text, _ := os.ReadFile(hostFoldersFile(root))
	return strings.Fields(string(text))
}
