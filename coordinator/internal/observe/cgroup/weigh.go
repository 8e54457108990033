package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Weigh writes the weight of a request into a pod's cgroup. The cgroup file system must be writable.
func (t *Tree) Weigh(pod growth.PodUID, request growth.MilliCPU) error {
	folders, err := t.folders(pod, time.Now())
	if err != nil {
		return fmt.Errorf("pod %s: %w", pod, err)
	}
	for name, weight := range map[string]int64{"cpu.shares": SharesOf(request), "cpu.weight": WeightOf(request)} {
		for _, folder := range folders {
			f, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY, 0)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return fmt.Errorf("weighing pod %s: %w: may this coordinator write to --cgroup-root?", pod, err)
			}
			_, err = f.WriteString(strconv.FormatInt(weight, 10))
			if err = errors.Join(err, f.Close()); err != nil {
				return fmt.Errorf("weighing pod %s: %w", pod, err)
			}
			return nil
		}
	}
	return fmt.Errorf("pod %s: its cgroup has no CPU weight: %w", pod, ErrNotFound)
}
