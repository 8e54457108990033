package config_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/tuner/internal/config"
)

const etcd = "--etcd-endpoints=http://etcd:2379"

func environment(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestFlagsGoAboveTheEnvironmentAndThatAboveDefaults(t *testing.T) {
	o, err := config.Parse([]string{etcd, "--interval=9s"}, environment(map[string]string{
		"TRELLIS_INTERVAL": "7s", "TRELLIS_LISTEN": ":1", "TRELLIS_LOG_LEVEL": "debug", "TRELLIS_VERSION": "true",
	}))
	require.NoError(t, err)
	require.Equal(t, 9*time.Second, o.Every)
	require.Equal(t, ":1", o.Listen)
	require.Equal(t, ":9443", o.HealthListen)
	require.Equal(t, slog.LevelDebug, o.LogLevel)
	require.False(t, o.Version)
}

func TestLeaderElectionIsWhereThereIsACluster(t *testing.T) {
	inPod := map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1", "POD_NAMESPACE": "trellis"}
	kubeconfig := "--kubeconfig=config.go" // some file that exists
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want bool
	}{
		"on a desk":                          {nil, nil, false},
		"in a pod":                           {nil, inPod, true},
		"in a pod, told not to":              {[]string{"--leader-elect=false"}, inPod, false},
		"in a pod, told not to, environment": {nil, map[string]string{"KUBERNETES_SERVICE_HOST": "h", "TRELLIS_LEADER_ELECT": "false"}, false},
		"with a kubeconfig":                  {[]string{kubeconfig, "--lease-namespace=n"}, nil, true},
		"with a kubeconfig, told not to":     {[]string{kubeconfig, "--leader-elect=false"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := config.Parse(append(c.args, etcd), environment(c.env))
			require.NoError(t, err)
			require.Equal(t, c.want, o.LeaderElect)
		})
	}
}

func TestNonsenseIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		says string
	}{
		"no bus":                 {nil, nil, "no etcd endpoint"},
		"an unknown flag":        {[]string{etcd, "--lisen=:1"}, nil, "lisen"},
		"a word":                 {[]string{etcd, "start"}, nil, `"start"`},
		"no address":             {[]string{etcd, "--listen=8080"}, nil, "--listen"},
		"a frantic interval":     {[]string{etcd, "--interval=1ms"}, nil, "--interval"},
		"a Lease nowhere":        {[]string{etcd, "--leader-elect"}, nil, "--lease-namespace"},
		"a kubeconfig not there": {[]string{etcd, "--kubeconfig=/nowhere", "--lease-namespace=n"}, nil, "--kubeconfig"},
		"a bad environment":      {[]string{etcd}, map[string]string{"TRELLIS_INTERVAL": "soon"}, "TRELLIS_INTERVAL"},
		"a bad level":            {[]string{etcd, "--log-level=loud"}, nil, "log-level"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse(c.args, environment(c.env))
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestHelpAndVersionNeedNothingElse(t *testing.T) {
	_, err := config.Parse([]string{"--help"}, environment(nil))
	require.ErrorIs(t, err, pflag.ErrHelp)
	o, err := config.Parse([]string{"--version"}, environment(nil))
	require.NoError(t, err)
	require.True(t, o.Version)
}
