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

// WeightOf returns the cpu.weight that kubelet writes for a pod's request on cgroup v2, by kubelet's formula: 1 per
// 26m. Container runtimes use a newer formula for the containers of a pod; between pods, kubelet's decides. The formula
// is coarse: a request of one core is a weight of 40, and the minimum is 1. So nine jobs with the minimum weight together get
// about a fifth of what that job gets.
func WeightOf(request growth.MilliCPU) int64 { return 1 + (SharesOf(request)-2)*9999/262142 }

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
