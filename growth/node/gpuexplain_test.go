package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestExplain_SaysWhyAJobHasNoGPUTime(t *testing.T) {
	for name, tc := range map[string]struct {
		setting  policy.GPUTime
		computes bool
		ended    bool
		want     string
	}{
		"switched off":     {policy.GPUTimeOff, true, false, "--gpu-time is off"},
		"emulated GPUs":    {policy.GPUTimeAuto, false, false, "do not compute"},
		"an ended process": {policy.GPUTimeAuto, true, true, "its processes have ended"},
		"no GPU yet":       {policy.GPUTimeOn, false, false, "no GPU is allocated"},
	} {
		t.Run(name, func(t *testing.T) {
			n := &Node{config: Config{GPUTime: tc.setting}, computes: tc.computes}
			j := &job{pod: Pod{Containers: []Container{{Ended: tc.ended}}}}
			require.Contains(t, n.whyNoGPU(j), tc.want)
		})
	}
}
