package cgroup

import (
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

// queued returns the time that the threads of a pod have been runnable without running, and whether it is known. It is
// for a kernel without PSI. The caller must hold t.mu.
func (t *Tree) queued(pod growth.PodUID, groups []*group) (growth.Seconds, bool) {
	threads, ok := t.threadDelays(groups)
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
func (t *Tree) threadDelays(groups []*group) (map[string]growth.Seconds, bool) {
	delays := map[string]growth.Seconds{}
	for _, thread := range threads(groups) {
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
func threads(groups []*group) []string {
	for _, g := range groups {
		var all []string
		descend(g.folder, func(folder string) bool {
			content, v1 := read(folder, "tasks")
			if !v1 {
				content, _ = read(folder, "cgroup.threads")
			}
			all = append(all, strings.Fields(content)...)
			return true
		})
		if len(all) > 0 {
			return all
		}
	}
	return nil
}
