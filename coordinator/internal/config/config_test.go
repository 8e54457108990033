package config_test

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/config"
	"github.com/trellis-gpu/trellis/daemon"
	"github.com/trellis-gpu/trellis/growth/policy"
)

func parse(env map[string]string, args ...string) (*config.Config, error) {
	c := &config.Config{}
	return c, daemon.Parse(c, args, func(name string) string { return env[name] })
}

func TestParse_ValidatesFlagsAndEnvironment(t *testing.T) {
	valid := []string{"--node-name=n", "--etcd-endpoints=http://localhost:2379"}
	for name, tc := range map[string]struct {
		env  map[string]string
		args []string
		says string
	}{
		"valid":                    {nil, nil, ""},
		"policy from the env":      {map[string]string{"TRELLIS_POLICY": "fair"}, nil, ""},
		"unknown policy":           {nil, []string{"--policy=magic"}, "fair, flowcon-literal, flowcon, qore-dl, harmless"},
		"harmless for growth":      {map[string]string{"TRELLIS_OBJECTIVE": "growth"}, []string{"--policy=harmless"}, ""},
		"enforced directly":        {nil, []string{"--enforce=cgroup"}, ""},
		"enforced by magic":        {nil, []string{"--enforce=magic"}, "resize or cgroup"},
		"unknown objective":        {nil, []string{"--objective=fame"}, "finish, balanced, growth, or a number"},
		"turns":                    {nil, []string{"--gpu-time"}, ""},
		"turns by a boolean":       {map[string]string{"TRELLIS_GPU_TIME": "true"}, nil, ""},
		"turns now and then":       {nil, []string{"--gpu-time=sometimes"}, "auto, on or off"},
		"converged jobs give way":  {map[string]string{"TRELLIS_CONVERGED": "floor"}, nil, ""},
		"converged jobs end":       {nil, []string{"--converged=none"}, "fair or floor"},
		"unknown log level":        {nil, []string{"--log-level=loud"}, "debug, info, warn, error"},
		"interval too short":       {nil, []string{"--interval=1ms"}, "1s to 1h"},
		"alpha out of range":       {nil, []string{"--alpha=2"}, "alpha"},
		"beta out of range":        {nil, []string{"--beta=0"}, "beta"},
		"no node":                  {nil, []string{"--node-name="}, "NODE_NAME"},
		"half of etcd's TLS":       {nil, []string{"--etcd-ca=/ca.crt"}, "all three or none"},
		"invalid value in the env": {map[string]string{"TRELLIS_INTERVAL": "soon"}, nil, "TRELLIS_INTERVAL"},
		"explain":                  {nil, []string{"--explain=ns/job", "-o", "json"}, ""},
		"explain as a poem":        {nil, []string{"--explain=ns/job", "-o", "poem"}, "table or json"},
		"unknown flag":             {nil, []string{"--colour"}, "colour"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(tc.env, append(valid[:2:2], tc.args...)...)
			if tc.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.says)
			}
		})
	}
	c, err := parse(map[string]string{"TRELLIS_INTERVAL": "7s", "NODE_NAME": "from-the-downward-api", "TRELLIS_GPU_TIME": "1", "TRELLIS_CONVERGED": "floor"}, valid[1:]...)
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, c.Decisions().Interval)
	require.Equal(t, "from-the-downward-api", c.Node)
	require.Equal(t, policy.GPUTimeOn, c.Decisions().GPUTime)
	require.Equal(t, policy.ConvergedFloor, c.Decisions().Converged)
}

func TestParse_ReportsAllInvalidFlags(t *testing.T) {
	_, err := parse(map[string]string{"TRELLIS_INTERVAL": "soon"}, "--enforce=magic", "--objective=fame")
	for _, flag := range []string{"TRELLIS_INTERVAL", "--enforce", "--objective", "--node-name", "etcd"} {
		require.ErrorContains(t, err, flag)
	}
}

func TestParse_HelpAndVersionNeedNothingElse(t *testing.T) {
	_, err := parse(nil, "--help")
	require.ErrorIs(t, err, pflag.ErrHelp)
	_, err = parse(nil, "--version")
	require.NoError(t, err)
}
