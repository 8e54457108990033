package node_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestNode_ReportsUnknownAnnotationsOnce(t *testing.T) {
	const misspelt = "job UnknownAnnotation: annotation gpushare/metrics is not known: did you mean gpushare/metric?"
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.arrive("job")
		require.Zero(t, w.eventCount("job UnknownAnnotation"))
		pod, _ := w.pod(ref("job").UID)
		annotate := func(name, value string) {
			pod.Annotations = maps.Clone(pod.Annotations)
			pod.Annotations[name] = value
			w.apply(pod)
		}
		for range 3 {
			annotate("gpushare/metrics", "loss")
		}
		require.Equal(t, 1, w.eventCount(misspelt))
		annotate("gpushare/policy", "fair")
		require.Equal(t, 2, w.eventCount(misspelt), "another set of annotations")

		w.remove("job")
		annotate(gpushare.MetricAnnotation, "loss:sideways")
		require.Equal(t, 3, w.eventCount(misspelt), "a pod whose share is not tuned")
	})
}
