//go:build linux

package node

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// buildMounts makes the calling process's mount namespace that of the node.
func (l Layout) buildMounts() error {
	// First cut the ties to the host: nothing mounted from here on may appear there.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// The picture is taken before /proc is covered.
	if err := Picture("/", l.path("picture"), l.Cores); err != nil {
		return fmt.Errorf("take the picture of the node's cores: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount the node's own /proc: %w", err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mount the node's own /run: %w", err)
	}
	for target, source := range l.private() {
		if err := os.MkdirAll(source, 0o755); err != nil {
			return err
		}
		if err := bind(source, target); err != nil {
			return err
		}
	}
	for _, path := range []string{cpuinfo, sysCPU, sysNode} {
		source := filepath.Join(l.path("picture"), path)
		if _, err := os.Stat(source); err != nil {
			continue // the machine has no such tree
		}
		if err := bind(source, "/"+path); err != nil {
			return err
		}
	}
	// Mounts of the node's pods must be able to propagate among them, as on any machine.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share mounts within the node: %w", err)
	}
	return nil
}

func bind(source, target string) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s on %s: %w", source, target, err)
	}
	return nil
}
