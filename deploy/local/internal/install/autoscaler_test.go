package install_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var nodeTemplateHint = regexp.MustCompile(`k8s\.io/cluster-autoscaler/node-template/(resources|label)/(\S+): "([^"]+)"`)

// TestAutoscaler_OneNodeOfTheTemplateFitsTwoHalves places pods as Cluster Autoscaler does: on a node as the hints of
// docs/other-software.md describe it, by the filters of kube-scheduler, without an extender.
func TestAutoscaler_OneNodeOfTheTemplateFitsTwoHalves(t *testing.T) {
	api := startAPIServer(t, "--disable-admission-plugins=TaintNodesByCondition")
	api.apply(t, admissionFolder)
	api.settle(t)
	scheduler, err := api.plane.Scheduler(testToken, " []\n")
	require.NoError(t, err)
	t.Cleanup(scheduler.Kill)

	for _, name := range []string{"first", "second"} {
		code, answer := api.post(t, "/api/v1/namespaces/default/pods", sharePod(name, "8Gi"))
		require.Equal(t, http.StatusCreated, code, string(answer))
		api.awaitPod(t, name, func(p placedPod) bool { return p.reason() == "Unschedulable" })
	}
	resources, labels := hintsOfTheTemplate(t)
	plain := map[string]string{"cpu": "8", "memory": "32Gi", "pods": "110"}
	api.addNode(t, "without-units", plain, nil)
	for name, quantity := range plain {
		resources[name] = quantity
	}
	api.addNode(t, "from-template", resources, labels)
	for _, name := range []string{"first", "second"} {
		api.awaitPod(t, name, func(p placedPod) bool { return p.Spec.NodeName == "from-template" })
	}
	code, answer := api.post(t, "/api/v1/namespaces/default/pods", sharePod("third", "1Gi"))
	require.Equal(t, http.StatusCreated, code, string(answer))
	api.awaitPod(t, "third", func(p placedPod) bool { return strings.Contains(p.message(), "2 Insufficient gpushare/gpu-mem") })

	// The DaemonSets start where the label is.
	require.Equal(t, map[string]string{"gpushare": "true"}, labels)
	require.Equal(t, 2, strings.Count(string(rendered(t)), "nodeSelector:\n        gpushare: \"true\"\n"), "device plugin and coordinator")
}

// hintsOfTheTemplate reads the tags of a node group from the page.
func hintsOfTheTemplate(t *testing.T) (resources, labels map[string]string) {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/other-software.md")
	require.NoError(t, err)
	hints := map[string]map[string]string{"resources": {}, "label": {}}
	for _, match := range nodeTemplateHint.FindAllStringSubmatch(string(page), -1) {
		hints[match[1]][match[2]] = match[3]
	}
	require.NotEmpty(t, hints["resources"], "docs/other-software.md has lost its hints")
	return hints["resources"], hints["label"]
}

func (a apiServer) addNode(t *testing.T, name string, resources, labels map[string]string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name, "labels": labels},
		"status": map[string]any{
			"capacity": resources, "allocatable": resources,
			"conditions": []any{map[string]string{"type": "Ready", "status": "True"}},
		},
	})
	require.NoError(t, err)
	code, answer := a.post(t, "/api/v1/nodes", body)
	require.Equal(t, http.StatusCreated, code, string(answer))
}

// placedPod is what the tests read of a pod that a scheduler has seen.
type placedPod struct {
	Spec   struct{ NodeName string }
	Status struct {
		Conditions []struct{ Type, Status, Reason, Message string }
	}
}

func (p placedPod) reason() string {
	if len(p.Status.Conditions) == 0 {
		return ""
	}
	return p.Status.Conditions[0].Reason
}

func (p placedPod) message() string {
	if len(p.Status.Conditions) == 0 {
		return ""
	}
	return p.Status.Conditions[0].Message
}

func (a apiServer) awaitPod(t *testing.T, name string, ready func(placedPod) bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		var pod placedPod
		require.NoError(t, json.Unmarshal(a.get(t, "/api/v1/namespaces/default/pods/"+name), &pod))
		return ready(pod)
	}, time.Minute, 100*time.Millisecond, "pod %s", name)
}
