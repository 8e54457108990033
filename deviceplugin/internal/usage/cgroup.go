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

// maxCgroup bounds the size of a process's cgroup file, which has a dozen lines.
const maxCgroup = 64 << 10

// podSlice matches the pod's UID in a cgroup path: "pod<uid>" with kubelet's cgroupfs driver, and "…-pod<uid with
// underscores>.slice" with the systemd driver. A static pod's UID is a hash without dashes.
var podSlice = regexp.MustCompile(
	`[/-]pod([0-9a-f]{8}([-_])[0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(\.slice)?(/|$)`)

// PodOf returns the pod named in the content of /proc/<pid>/cgroup. Version 1 has one line per controller, version 2
// one line.
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

// Proc is the path of the host's /proc.
type Proc string

// Pod returns the pod of a process. It returns false if the process has ended.
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
