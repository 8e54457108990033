package config_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestParse_DefaultsAreTheShippedOnes(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/base/coordinator/kustomization.yaml")
	require.NoError(t, err)
	literals := regexp.MustCompile(`(?m)^\s*- (TRELLIS_\w+)=(\S+)$`).FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, literals)

	args := []string{"--node-name=n", "--etcd-endpoints=http://localhost:2379"}
	defaults, err := parse(nil, args...)
	require.NoError(t, err)
	require.Equal(t, policy.Default, defaults.Policy)
	require.Equal(t, policy.DefaultInterval, defaults.Interval)
	require.InDelta(t, policy.DefaultAlpha, defaults.Alpha, 0)

	env := map[string]string{}
	for _, literal := range literals {
		env[literal[1]] = literal[2]
	}
	shipped, err := parse(env, args...)
	require.NoError(t, err)
	require.Equal(t, defaults, shipped, "a value in deploy/base differs from its flag's default")
}
