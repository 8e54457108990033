//go:build linux

package node

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// buildMounts sets up the mounts of the node in the calling process's mount namespace.
func (l Layout) buildMounts() error {
	// Make all mounts private first, so that none of the following ones appears on the host.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// The copies are made before /proc is mounted over.
	if err := WriteCPUTree("/", l.path("cpus"), l.Cores); err != nil {
		return fmt.Errorf("copy the files about the node's cores: %w", err)
	}
	if l.NUMANodes > 1 {
		if err := WriteMemoryNodes(l.path("cpus"), l.Cores, l.NUMANodes); err != nil {
			return fmt.Errorf("write the files about NUMA nodes: %w", err)
		}
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
		source := filepath.Join(l.path("cpus"), path)
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
