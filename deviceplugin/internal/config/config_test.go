package config_test

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/config"
	"github.com/trellis-gpu/trellis/growth"
)

func parse(env map[string]string, args ...string) (*config.Config, error) {
	c := &config.Config{}
	return c, daemon.Parse(c, args, func(name string) string { return env[name] })
}

func TestParse_CommandLineOverridesEnvironment(t *testing.T) {
	c, err := parse(map[string]string{
		"NODE_NAME":              "from-env",
		"TRELLIS_GPUS":           "emulated:1x8Gi",
		"TRELLIS_MEMORY_UNIT":    "512Mi",
		"TRELLIS_RECOVER_AFTER":  "3m",
		"TRELLIS_ETCD_ENDPOINTS": "http://e:2379",
		"TRELLIS_SHARING":        "",
	}, "--memory-unit=2Gi")
	require.NoError(t, err)
	require.Equal(t, growth.NodeName("from-env"), c.Node)
	require.Equal(t, "emulated:1x8Gi", c.GPUs)
	require.Equal(t, "2Gi", c.MemoryUnit, "the flag wins")
	require.Equal(t, 3*time.Minute, c.RecoverAfter)
	require.Equal(t, config.ShareByTime, c.Sharing, "an empty variable counts as unset")
}

func TestParse_ReportsAllErrors(t *testing.T) {
	_, err := parse(map[string]string{"TRELLIS_RECOVER_AFTER": "soon", "TRELLIS_LOSS_AFTER": "2m"}, "--node-name=n1", "--gpus=cuda")
	require.ErrorContains(t, err, "TRELLIS_RECOVER_AFTER")
	require.ErrorContains(t, err, "--gpus", "all errors are reported together")
	require.ErrorContains(t, err, "no etcd endpoint")
}

func TestParse_RejectsInvalidFlags(t *testing.T) {
	valid := []string{"--node-name=n1", "--gpus=emulated:2x24GiB", "--etcd-endpoints=http://e:2379"}
	for flag, words := range map[string]string{
		"--node-name=":         "--node-name",
		"--gpus=cuda":          "--gpus",
		"--gpus=emulated:lots": "--gpus",
		"--memory-unit=0":      "--memory-unit",
		"--resource=gpu":       "--resource",
		"--plugin-dir=here":    "--plugin-dir",
		"--plugin-dir=/a,b":    "\"b\" is not an absolute path",
		"--log-level=loud":     "--log-level",
		"--etcd-ca=ca.crt":     "TLS",
		"--delivery=post":      "neither env nor cdi",
		"--sharing=mps":        "emulated GPUs have no MPS",
		"--mps-threads=few":    "neither cores nor share",
		"--mps-threads=share":  "only with --sharing=mps",
		"--on-excess=kill":     "neither warn nor evict",
		"--output=xml":         "neither text nor json",
		"--xid-policy=79=x":    "--xid-policy",
		"--excess-slack=much":  "--excess-slack",
		"--recover-after=-1s":  "--recover-after",
		"--proc=proc":          "--proc",
		"stray":                "stray",
	} {
		_, err := parse(nil, append(append([]string{}, valid...), flag)...)
		require.ErrorContains(t, err, words, flag)
	}
	_, err := parse(nil, "--node-name=n1", "--gpus=emulated:2x24GiB", "--dry-run")
	require.NoError(t, err, "a dry run needs no bus")
}

func TestParse_HelpAndVersionNeedNoOtherFlag(t *testing.T) {
	_, err := parse(nil, "--help")
	require.ErrorIs(t, err, pflag.ErrHelp)
	_, err = parse(nil, "--version")
	require.NoError(t, err)
}
