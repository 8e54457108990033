//go:build e2e && linux

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// jobsOutliveRefusals runs the Job of docs/other-software.md on a node with two GPUs of 24 GiB. Kubelet refuses its first pod,
// because 4 units are free on each GPU and the Job needs 8 on one.
func (l local) jobsOutliveRefusals(t *testing.T, name string) {
	printed := printedBlocks(t, "other-software.md")["backoff-job"]
	require.Contains(t, printed, `gpushare/gpu-mem: "8Gi"`)
	gate := newGate(t)
	holder := strings.Replace(gate.job(printed), `"8Gi"`, `"20Gi"`, 1)
	holders := []string{l.submit(name, holder), l.submit(name, holder)}
	for _, job := range holders {
		l.kubectl(name, "wait", "--for=jsonpath={.status.ready}=1", job, "--timeout=120s")
	}
	// The node is given, so no scheduler makes the pod wait for room.
	const never = "      restartPolicy: Never\n"
	hasty := strings.Replace(gate.job(printed), never, never+"      nodeName: node-1\n", 1)
	const limit = "  backoffLimit: 20\n"
	require.Contains(t, hasty, limit)

	lost := l.submit(name, strings.Replace(hasty, limit, "  backoffLimit: 0\n", 1))
	l.kubectl(name, "wait", "--for=condition=Failed", lost, "--timeout=60s")
	require.Contains(t, l.field(name, lost, `{.status.conditions[?(@.type=="Failed")].reason}`), "BackoffLimitExceeded")

	job := l.submit(name, hasty)
	l.kubectl(name, "wait", "--for=jsonpath={.status.failed}=1", job, "--timeout=60s")
	require.Equal(t, "UnexpectedAdmissionError", l.ofPods(name, job, "{.items[0].status.reason}"))
	require.Contains(t, l.ofPods(name, job, "{.items[0].status.message}"), "GPU")
	require.Empty(t, l.field(name, job, `{.status.conditions[?(@.type=="Failed")].reason}`))
	gate.open()
	l.completes(name, job)

	faulty := strings.Replace(gate.job(printed), "until [ -e /gate/open ]; do sleep 0.2; done", "exit 3", 1)
	failed := l.submit(name, faulty)
	l.kubectl(name, "wait", "--for=condition=Failed", failed, "--timeout=60s")
	require.Equal(t, "PodFailurePolicy", l.field(name, failed, `{.status.conditions[?(@.type=="Failed")].reason}`))
	require.Equal(t, "1", l.field(name, failed, "{.status.failed}"), "the program ran once")
	for _, one := range append(holders, lost, job, failed) {
		l.kubectl(name, "delete", one)
	}
}

// ofPods reads a field of the pods of a Job.
func (l local) ofPods(name, job, path string) string {
	l.t.Helper()
	return l.kubectl(name, "get", "pods", "-l", "job-name="+strings.TrimPrefix(job, "job.batch/"), "-o", "jsonpath="+path)
}
