package turnbench

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/coordinator/internal/loop"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/jobfile"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// fakes are the ports that are kubelet and the API server on a real node.
type fakes struct {
	*machine
	loop *loop.Loop
}

// clockTicks is the number of ticks in a second of /proc/PID/stat.
const clockTicks = 100

// Usage reads the CPU time of the job's process. Its data loaders do not count until they end.
func (f *fakes) Usage(pod growth.PodUID, _ time.Time) (cgroup.Usage, error) {
	f.mu.Lock()
	j := f.jobs[pod]
	f.mu.Unlock()
	if j == nil {
		return cgroup.Usage{}, os.ErrNotExist
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", j.cmd.Process.Pid))
	if err != nil {
		return cgroup.Usage{}, err
	}
	_, text2, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(text2)
	var ticks int64
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		var n int64
		_, _ = fmt.Sscan(field, &n)
		ticks += n
	}
	return cgroup.Usage{CPU: growth.Seconds(float64(ticks) / clockTicks), CPUKnown: true, Weight: 20}, nil
}

// CPUs is that of containers without cores of their own.
func (f *fakes) CPUs(growth.PodUID, string) (int, bool) { return 0, false }

func (f *fakes) Populated(growth.PodUID, time.Time) bool { return false }

// Node is that of a node without pressure.
func (f *fakes) Node() cgroup.Stalled { return cgroup.Stalled{} }

// Follow follows no log: all jobs use the shim.
func (f *fakes) Follow(ctx context.Context, _ growth.PodRef, _ string, _ bool, _ *lines.Reader, _ lines.Sink) {
	<-ctx.Done()
}

type noFiles struct{}

func (noFiles) Follow(ctx context.Context, _ jobfile.Source, _ *lines.Reader, _ lines.Sink) {
	<-ctx.Done()
}

// Enforce reports every resize as applied. No job lists cpu in gpushare/tune, so there should be none.
func (f *fakes) Enforce(resizes []node.Resize) {
	go func() {
		for _, r := range resizes {
			f.loop.Resized(enforce.Result{Resize: r, Weight: int64(r.To), Verified: true})
		}
	}()
}

func (f *fakes) Event(pod growth.PodRef, _ bool, reason, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, fmt.Sprintf("%s %s: %s", pod.Name, reason, message))
}

func (f *fakes) Annotate(pod growth.PodRef, name, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.pods[pod.UID]; p != nil {
		p.Annotations[name] = value
	}
}

func (f *fakes) Save(m node.Memory) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.memory = m
}
