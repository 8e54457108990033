package config_test

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon"
	"github.com/trellis-gpu/trellis/tuner/internal/config"
)

const etcd = "--etcd-endpoints=http://etcd:2379"

func parse(env map[string]string, args ...string) (*config.Config, error) {
	getenv := func(name string) string { return env[name] }
	c := config.New(getenv)
	return c, daemon.Parse(c, args, getenv)
}

func TestParse_CommandLineOverridesEnvironment(t *testing.T) {
	c, err := parse(map[string]string{"TRELLIS_INTERVAL": "7s", "TRELLIS_LISTEN": ":1", "TRELLIS_VERSION": "true"}, etcd, "--interval=9s")
	require.NoError(t, err)
	require.Equal(t, 9*time.Second, c.Interval)
	require.Equal(t, ":1", c.Listen)
	require.Equal(t, ":9443", c.HealthListen)
	require.False(t, c.Elect())
}

func TestElect_DefaultDependsOnCluster(t *testing.T) {
	inPod := map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1", "POD_NAMESPACE": "trellis"}
	kubeconfig := "--kubeconfig=config.go" // an existing file
	for name, tc := range map[string]struct {
		args []string
		env  map[string]string
		want bool
	}{
		"outside a cluster":                    {nil, nil, false},
		"in a pod":                             {nil, inPod, true},
		"in a pod, off":                        {[]string{"--leader-elect=false"}, inPod, false},
		"in a pod, off by environment":         {nil, map[string]string{"KUBERNETES_SERVICE_HOST": "h", "TRELLIS_LEADER_ELECT": "false"}, false},
		"with a kubeconfig":                    {[]string{kubeconfig, "--lease-namespace=n"}, nil, true},
		"with a kubeconfig, off":               {[]string{kubeconfig, "--leader-elect=false"}, nil, false},
		"outside a cluster, on":                {[]string{"--leader-elect", "--lease-namespace=n"}, nil, true},
		"outside a cluster, on by environment": {[]string{"--lease-namespace=n"}, map[string]string{"TRELLIS_LEADER_ELECT": "1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := parse(tc.env, append(tc.args, etcd)...)
			require.NoError(t, err)
			require.Equal(t, tc.want, c.Elect())
		})
	}
}

func TestParse_RejectsInvalidFlags(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		says string
	}{
		"no bus":                      {nil, nil, "no etcd endpoint"},
		"an unknown flag":             {[]string{etcd, "--lisen=:1"}, nil, "lisen"},
		"an argument":                 {[]string{etcd, "start"}, nil, `"start"`},
		"an address without a colon":  {[]string{etcd, "--listen=8080"}, nil, "--listen"},
		"too short an interval":       {[]string{etcd, "--interval=1ms"}, nil, "--interval"},
		"a Lease without a namespace": {[]string{etcd, "--leader-elect"}, nil, "--lease-namespace"},
		"a missing kubeconfig":        {[]string{etcd, "--kubeconfig=/nowhere", "--lease-namespace=n"}, nil, "--kubeconfig"},
		"an invalid variable":         {[]string{etcd}, map[string]string{"TRELLIS_INTERVAL": "soon"}, "TRELLIS_INTERVAL"},
		"an unknown reallocation":     {[]string{etcd, "--loaders-reallocate=hourly"}, nil, "--loaders-reallocate \"hourly\": one of always"},
		"an unknown log level":        {[]string{etcd, "--log-level=loud"}, nil, "log-level"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.env, c.args...)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestParse_HelpAndVersionNeedNoOtherFlag(t *testing.T) {
	_, err := parse(nil, "--help")
	require.ErrorIs(t, err, pflag.ErrHelp)
	_, err = parse(nil, "--version")
	require.NoError(t, err)
}

func TestParse_SharedNamespaces(t *testing.T) {
	c, err := parse(nil, etcd, "--share-programs=team-b,team-a")
	require.NoError(t, err)
	require.EqualValues(t, []string{"team-a", "team-b"}, c.Sharing)
	c, err = parse(map[string]string{"TRELLIS_SHARE_PROGRAMS": "*"}, etcd)
	require.NoError(t, err)
	require.EqualValues(t, []string{"*"}, c.Sharing)
	_, err = parse(nil, etcd, "--share-programs=Team")
	require.ErrorContains(t, err, `--share-programs: "Team" is not a namespace`)
}
