package pods

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// maxThreads bounds the size of a thread pool. No node has more cores.
const maxThreads = 1024

// threads returns the size of the thread pools of a container's processes: the largest number that its variables set, or 0
// if they set none. Values from ConfigMaps and Secrets are unknown.
func threads(p *corev1.Pod, container string) (largest int) {
	for _, c := range p.Spec.Containers {
		if c.Name != container {
			continue
		}
		for _, e := range c.Env {
			if slices.Contains(gpushare.ThreadVariables(), e.Name) {
				largest = max(largest, threadCount(e.Value))
			}
		}
	}
	return largest
}

// threadCount parses the value of a variable. OMP_NUM_THREADS may be a list with a number for each level of nesting; the
// first is that of the outermost one. The result is 0 for an invalid value.
func threadCount(value string) int {
	first, _, _ := strings.Cut(value, ",")
	count, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || count < 1 {
		return 0
	}
	return min(count, maxThreads)
}
