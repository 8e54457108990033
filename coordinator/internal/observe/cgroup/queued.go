package cgroup

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// mostThreads is how many threads of a pod are looked at. How long more of them queue is not known.
const mostThreads = 128

// runDelays adds up for how long a pod's threads have stood in the processor's run queue. A thread takes its count with it
// when it ends, so that only what each has been delayed between two looks counts.
type runDelays struct {
	threads map[string]growth.Seconds
	total   growth.Seconds
}

// queued is for how long the pod has been ready to run without running, as far as it is known: where the kernel keeps
// cgroups' pressure some process of it, else the sum over its threads, which is more where several wait at once.
func (t *Tree) queued(pod growth.PodUID, folders []string) (growth.Seconds, bool) {
	for _, folder := range folders {
		if s, ok := stalled(folder, "cpu.pressure"); ok {
			return s, true
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	threads, ok := t.threadDelays(folders)
	if !ok {
		return 0, false
	}
	d := t.delays[pod]
	for thread, now := range threads {
		if before := d.threads[thread]; now > before {
			d.total += now - before
		}
	}
	d.threads = threads
	t.delays[pod] = d
	return d.total, true
}

// threadDelays reads for how long each of the pod's threads has been queued. It is not known where the kernel does not count it,
// without the node's process IDs, or with too many threads.
func (t *Tree) threadDelays(folders []string) (map[string]growth.Seconds, bool) {
	delays := map[string]growth.Seconds{}
	for _, thread := range threads(folders) {
		if len(delays) == mostThreads {
			return nil, false
		}
		content, running := read(filepath.Join(t.proc, thread), "schedstat") // time run, time queued, in ns, and times run
		if !running {
			continue // it has ended
		}
		fields := strings.Fields(content)
		if len(fields) != 3 {
			return nil, false
		}
		ns, ok := parsed(fields[1])
		if !ok {
			return nil, false
		}
		delays[thread] = growth.Seconds(float64(ns) / 1e9)
	}
	return delays, len(delays) > 0
}

// threads lists those of a pod, by the first of its hierarchies that has some.
func threads(folders []string) []string {
	for _, folder := range folders {
		var all []string
		_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return nil // what vanishes while we walk is no error
			}
			content, v1 := read(path, "tasks")
			if !v1 {
				content, _ = read(path, "cgroup.threads")
			}
			all = append(all, strings.Fields(content)...)
			return nil
		})
		if len(all) > 0 {
			return all
		}
	}
	return nil
}
