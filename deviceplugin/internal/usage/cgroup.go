package usage

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// maxCgroup bounds what is read of a process's cgroup file: a dozen lines.
const maxCgroup = 64 << 10

// podSlice finds a pod's UID in a cgroup's path, as kubelet names it: "pod<uid>" with the cgroupfs driver,
// "…-pod<uid with underscores>.slice" with systemd's. A static pod's UID is the hash of its manifest, without dashes.
var podSlice = regexp.MustCompile(`[/-]pod([0-9a-f]{8}([-_])[0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(\.slice)?(/|$)`)

// PodOf finds the pod in the content of /proc/<pid>/cgroup, of version 1 (one line per controller) or 2 (one line).
func PodOf(cgroup string) (growth.PodUID, bool) {
	for line := range strings.Lines(cgroup) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		_, path, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		if found := podSlice.FindStringSubmatch(path); found != nil {
			return growth.PodUID(strings.ReplaceAll(found[1], "_", "-")), true
		}
	}
	return "", false
}

// Proc is the host's /proc.
type Proc string

// Pod finds the pod of a process. One that has ended meanwhile has none.
func (p Proc) Pod(pid int) (growth.PodUID, bool) {
	file, err := os.Open(filepath.Join(string(p), strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return "", false
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxCgroup))
	if err != nil {
		return "", false
	}
	return PodOf(string(content))
}
