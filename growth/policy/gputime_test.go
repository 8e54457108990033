package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestParseGPUTime_AcceptsTheBooleansOfEarlierReleases(t *testing.T) {
	for text, want := range map[string]policy.GPUTime{
		"auto": policy.GPUTimeAuto, "on": policy.GPUTimeOn, "off": policy.GPUTimeOff,
		"true": policy.GPUTimeOn, "1": policy.GPUTimeOn, "false": policy.GPUTimeOff, "0": policy.GPUTimeOff, "": "",
	} {
		got, err := policy.ParseGPUTime(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	_, err := policy.ParseGPUTime("sometimes")
	require.EqualError(t, err, `gpu-time "sometimes": auto, on or off`)
}

func TestGPUTime_DividesByDefaultWhereGPUsCompute(t *testing.T) {
	for _, compute := range []bool{false, true} {
		require.Equal(t, compute, policy.GPUTimeAuto.Divides(compute))
		require.Equal(t, compute, policy.GPUTime("").Divides(compute))
		require.True(t, policy.GPUTimeOn.Divides(compute))
		require.False(t, policy.GPUTimeOff.Divides(compute))
	}
}
