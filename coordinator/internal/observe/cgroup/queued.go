package cgroup

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// maxThreads bounds the threads read per pod. The queued time of a pod with more threads is unknown.
const maxThreads = 128

// runDelays adds up the time that a pod's threads have spent in the run queue. The kernel's count of a thread
// disappears with the thread, so total is the sum of the increases between two readings.
type runDelays struct {
	threads map[string]growth.Seconds
	total   growth.Seconds
}

// queued returns the time that the pod has been runnable without running, and whether it is known. With PSI it is the
// time in which some task of the pod waited. Otherwise it is the sum over the pod's threads, which counts the time
// twice if two threads wait.
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

// threadDelays returns the queued time of each of the pod's threads. It is unknown on a kernel without schedstat,
// without the host's PID namespace, or with more than maxThreads threads.
func (t *Tree) threadDelays(folders []string) (map[string]growth.Seconds, bool) {
	delays := map[string]growth.Seconds{}
	for _, thread := range threads(folders) {
		if len(delays) == maxThreads {
			return nil, false
		}
		// schedstat has the time run and the time queued, in ns, and the number of timeslices.
		content, running := read(filepath.Join(t.proc, thread), "schedstat")
		if !running {
			continue // the thread has ended
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

// threads lists the thread IDs of a pod, from the first of its hierarchies that has some.
func threads(folders []string) []string {
	for _, folder := range folders {
		var all []string
		_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return nil // a cgroup that disappears during the walk is not an error
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
