//go:build e2e && linux

package e2e

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var withJobSet = flag.Bool("jobset", false, "run the test with the controller of JobSets, whose first build takes minutes")

// TestJobSetMoves is TestGangMoves for a JobSet under its own controller. The controller would end the JobSet at the first failure.
func TestJobSetMoves(t *testing.T) {
	if !*withJobSet {
		t.Skip("SKIPPED: the first build of JobSet takes minutes; `make test-jobset` runs this test")
	}
	skipUnlessRoot(t)
	undisturbed := startUndisturbedRanks(t, ddpSteps)
	m := newMoves(t, "gangs")
	m.install(t, controller{
		name: "jobset", module: "sigs.k8s.io/jobset", manifests: "config",
		namespace: "jobset-system", deployment: "jobset-controller-manager",
	})
	m.submitJobSet(t)
	m.movesARank(t, undisturbed, m.jobSetEnds)
}

// submitJobSet creates a JobSet of one Job.
func (m *moves) submitJobSet(t *testing.T) {
	t.Helper()
	m.createAccepted(t, map[string]any{
		"apiVersion": "jobset.x-k8s.io/v1alpha2",
		"kind":       "JobSet",
		"metadata":   map[string]any{"name": ddpName, "namespace": m.run.Setup.Namespace},
		"spec": map[string]any{
			"network":       map[string]any{"enableDNSHostnames": false}, // the ranks have a Service of the same name
			"failurePolicy": map[string]any{"maxRestarts": 0},
			"replicatedJobs": []any{map[string]any{
				"name":     "rank",
				"replicas": 1,
				"template": map[string]any{"spec": m.ranks(t)},
			}},
		},
	})
}

// jobSetEnds waits until the JobSet has completed, without a restart.
func (m *moves) jobSetEnds(t *testing.T) {
	t.Helper()
	status := func(field string) string {
		return m.kubectl(t, nil, "get", "jobset", ddpName, "-n", m.run.Setup.Namespace, "-o", "jsonpath={.status."+field+"}")
	}
	eventually(t, "the JobSet ends", 5*time.Minute, func() bool { return status("terminalState") != "" })
	require.Equal(t, "Completed", status("terminalState"))
	require.Contains(t, []string{"", "0"}, status("restarts"))
	failed := m.kubectl(t, nil, "get", "jobs", "-n", m.run.Setup.Namespace, "-o", "jsonpath={.items[*].status.failed}")
	require.Empty(t, strings.Trim(failed, " 0"))
}
