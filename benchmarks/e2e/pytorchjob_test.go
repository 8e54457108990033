//go:build e2e && linux

package e2e

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

var withPyTorchJob = flag.Bool("pytorchjob", false, "run the test with Kubeflow's training operator, whose first build takes minutes")

const (
	// masterName is the name that the operator gives the pod of rank 0 and the Service in front of it.
	masterName = ddpName + "-master-0"
	// The operator requires the name of the container, and takes the port of the ranks from the one with its name.
	pyTorchContainer = "pytorch"
	pyTorchPort      = "pytorchjob-port"
)

// TestPyTorchJobMoves is TestGangMoves for a PyTorchJob under its own operator, which would end the job at the first pod that fails.
func TestPyTorchJobMoves(t *testing.T) {
	if !*withPyTorchJob {
		t.Skip("SKIPPED: the first build of the training operator takes minutes; `make test-pytorchjob` runs this test")
	}
	skipUnlessRoot(t)
	undisturbed := startUndisturbedRanks(t, ddpSteps)
	m := newMoves(t, "gangs")
	m.labelsOf = ofReplica
	m.install(t, controller{
		name: "pytorchjob", module: "github.com/kubeflow/training-operator", manifests: "manifests",
		namespace: "kubeflow", deployment: "training-operator",
	})
	m.submitPyTorchJob(t)
	m.placedTogether(t)
	m.movesARank(t, undisturbed, m.pyTorchJobEnds)
}

// ofReplica returns the labels that the operator gives the pod of a rank: the master is rank 0.
func ofReplica(rank string) labels.Set {
	replica := map[string]string{"0": "master", "1": "worker"}[rank]
	return labels.Set{"training.kubeflow.org/replica-type": replica, "training.kubeflow.org/replica-index": "0"}
}

// submitPyTorchJob creates a PyTorchJob with a master and a worker. The operator says each its rank and the name of the master.
func (m *moves) submitPyTorchJob(t *testing.T) {
	t.Helper()
	pod, address := m.rankTemplate(t)
	pod.Spec.RestartPolicy = "" // that of the replicas counts
	pod.Spec.HostAliases = []corev1.HostAlias{{IP: address, Hostnames: []string{masterName}}}
	train := &pod.Spec.Containers[0]
	train.Name = pyTorchContainer
	train.Ports = []corev1.ContainerPort{{Name: pyTorchPort, ContainerPort: ddpPort}}
	replica := map[string]any{
		"replicas":      1,
		"restartPolicy": corev1.RestartPolicyNever,
		"template": map[string]any{
			"metadata": map[string]any{"labels": pod.Labels, "annotations": pod.Annotations},
			"spec":     pod.Spec,
		},
	}
	m.createAccepted(t, map[string]any{
		"apiVersion": "kubeflow.org/v1",
		"kind":       "PyTorchJob",
		"metadata":   map[string]any{"name": ddpName, "namespace": m.run.Setup.Namespace},
		"spec":       map[string]any{"pytorchReplicaSpecs": map[string]any{"Master": replica, "Worker": replica}},
	})
}

// placedTogether waits until the extender has placed both pods as one gang.
func (m *moves) placedTogether(t *testing.T) {
	t.Helper()
	for _, rank := range []string{"0", "1"} {
		eventually(t, "rank "+rank+" is placed with its gang", startTime, func() bool {
			pod := m.rank(t, rank)
			return pod != nil && m.hasEvent(t, pod.Name, "GangPlaced", "PyTorchJob "+ddpName)
		})
	}
}

// pyTorchJobEnds waits until the PyTorchJob has succeeded. The operator has counted no failure, and restarted nothing. Its counters say
// so; of its events the client library drops those that come after the first 25 of an object.
func (m *moves) pyTorchJobEnds(t *testing.T) {
	t.Helper()
	of := func(kind, field string) string {
		return m.kubectl(t, nil, "get", kind, "-n", m.run.Setup.Namespace, "-o", "jsonpath="+field)
	}
	conditions := func() string { return of("pytorchjob/"+ddpName, "{.status.conditions[?(@.status==\"True\")].type}") }
	eventually(t, "the PyTorchJob ends", 5*time.Minute, func() bool {
		now := strings.Fields(conditions())
		require.NotContains(t, now, "Failed")
		require.NotContains(t, now, "Restarting")
		return len(now) > 0 && now[len(now)-1] == "Succeeded"
	})
	require.Empty(t, strings.Trim(of("pytorchjob/"+ddpName, "{.status.replicaStatuses.*.failed}"), " 0"))
	counters := m.kubectl(t, nil, "get", "--raw", "/api/v1/namespaces/kubeflow/services/training-operator:monitoring-port/proxy/metrics")
	require.Regexp(t, `(?m)^training_operator_jobs_successful_total\{.*\} 1$`, counters)
	require.NotContains(t, counters, "training_operator_jobs_restarted_total{")
	require.NotContains(t, counters, "training_operator_jobs_failed_total{")
	restarts := of("pods", "{.items[*].status.containerStatuses[*].restartCount}")
	require.Empty(t, strings.Trim(restarts, " 0"))
}
