package extenderbench

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/trellis-gpu/trellis/daemon/controlplanetest"
)

func TestScheduler_UsesTheShippedExtenderConfig(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/base/extender/scheduler.yaml")
	require.NoError(t, err)
	type config struct {
		Percentage int `json:"percentageOfNodesToScore"`
		Extenders  []map[string]any
	}
	var shipped, measured config
	require.NoError(t, yaml.Unmarshal(text, &shipped))
	require.NoError(t, yaml.Unmarshal(fmt.Appendf(nil, controlplanetest.SchedulerConfig("kubeconfig")+extenders, "http://127.0.0.1:1"), &measured))
	require.Len(t, shipped.Extenders, 1)
	require.Len(t, measured.Extenders, 1)
	for _, extender := range []map[string]any{shipped.Extenders[0], measured.Extenders[0]} {
		delete(extender, "urlPrefix")
	}
	// Preemption is not measured; the other two are kube-scheduler's defaults.
	delete(shipped.Extenders[0], "preemptVerb")
	delete(shipped.Extenders[0], "ignorable")
	delete(shipped.Extenders[0]["managedResources"].([]any)[0].(map[string]any), "ignoredByScheduler")
	require.Equal(t, shipped, measured)
}
