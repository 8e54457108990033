package training_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

func TestPod_OfAVariant(t *testing.T) {
	for _, tc := range []struct {
		kind    string
		command []string
		limits  bool
	}{
		{"tqdm", []string{"python3", "/jobs/bars.py", "--steps", "900", "--seed", "1"}, false},
		{"ddp", []string{"python3", "/jobs/ddp.py", "--steps", "900", "--seed", "1", "--batch-size", "64"}, false},
		{"guaranteed", []string{"python3", "/jobs/run.py", "gru"}, true},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			require.Contains(t, workload.Variants(), tc.kind)
			variant := job
			variant.Kind = tc.kind
			train := training.Setup{Python: "python3"}.Pod(variant).Spec.Containers[0]
			require.Equal(t, tc.command, train.Command[:len(tc.command)])
			if !tc.limits {
				require.Empty(t, train.Resources.Limits)
				return
			}
			require.Equal(t, train.Resources.Requests, train.Resources.Limits, "its QoS class is Guaranteed")
			require.Contains(t, train.Resources.Limits, corev1.ResourceMemory)
		})
	}
}
