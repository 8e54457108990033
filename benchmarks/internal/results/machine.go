package results

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

// Machine describes the machine of a measurement.
type Machine struct {
	CPUs   int    `json:"cpus"`
	Memory int64  `json:"memory"` // bytes
	Kernel string `json:"kernel"`
	GPU    string `json:"gpu"`
}

// ThisMachine describes the machine of this process. Its GPUs are those of the cluster's nodes.
func ThisMachine(nodes []timeline.Node) Machine {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return Machine{CPUs: runtime.NumCPU(), Memory: memory(), Kernel: strings.TrimSpace(string(kernel)), GPU: gpus(nodes)}
}

// Boot returns the kernel's boot ID, or an empty string if the kernel has none.
func Boot() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

func memory() int64 {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

func gpus(nodes []timeline.Node) string {
	var all []string
	for _, n := range nodes {
		for _, g := range n.GPUs {
			text := string(n.Name) + ": " + g.Model
			if n.Emulated && !strings.Contains(g.Model, "emulated") {
				text += " (emulated)"
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// Commit returns the revision of this build, with "+" for a modified tree, or version if the build has no revision.
func Commit(version string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	revision, changed := version, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+"
		}
	}
	return revision + changed
}
