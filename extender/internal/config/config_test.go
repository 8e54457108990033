package config_test

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon"
	"github.com/trellis-gpu/trellis/extender/internal/config"
	"github.com/trellis-gpu/trellis/extender/internal/mover"
)

const etcd = "--etcd-endpoints=http://127.0.0.1:2379"

func parse(env map[string]string, args ...string) (config.Config, error) {
	var c config.Config
	err := daemon.Parse(&c, args, func(name string) string { return env[name] })
	return c, err
}

func TestParse_Defaults(t *testing.T) {
	c, err := parse(nil, etcd)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:12346", c.Listen)
	require.Equal(t, ":9440", c.HealthListen)
	require.Equal(t, "growth", c.Policy)
	require.Equal(t, float32(200), c.Kube.QPS)
	require.Equal(t, 400, c.Kube.Burst)
	require.False(t, c.Recreate)
}

func TestParse_CommandLineOverridesEnvironment(t *testing.T) {
	env := map[string]string{"TRELLIS_POLICY": "spread", "TRELLIS_KUBE_QPS": "50", "TRELLIS_LISTEN": "127.0.0.2:1"}
	c, err := parse(env, etcd, "--listen=[::1]:2")
	require.NoError(t, err)
	require.Equal(t, "spread", c.Policy)
	require.Equal(t, float32(50), c.Kube.QPS)
	require.Equal(t, "[::1]:2", c.Listen)
}

func TestParse_AcceptsOldNameOfRecreate(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "true": true, "0": false, "": false} {
		c, err := parse(map[string]string{"TRELLIS_RESUBMIT": value}, etcd)
		require.NoError(t, err)
		require.Equal(t, want, c.Recreate, "TRELLIS_RESUBMIT=%s", value)
	}
	c, err := parse(nil, etcd, "--resubmit")
	require.NoError(t, err)
	require.True(t, c.Recreate)
}

func TestParse_Moves(t *testing.T) {
	for value, want := range map[string]mover.Mode{"": mover.Off, "true": mover.Requested, "automatic": mover.Automatic} {
		c, err := parse(map[string]string{"TRELLIS_MOVES": value}, etcd)
		require.NoError(t, err)
		require.Equal(t, want, c.Moves, "TRELLIS_MOVES=%s", value)
	}
	c, err := parse(nil, etcd, "--moves")
	require.NoError(t, err)
	require.Equal(t, mover.Requested, c.Moves, "as in earlier releases")
}

func TestParse_NamesInvalidValues(t *testing.T) {
	for name, tc := range map[string]struct {
		arguments []string
		want      string
	}{
		"plain HTTP on all addresses":    {[]string{etcd, "--listen=:12346"}, "plain HTTP is for a loopback address"},
		"plain HTTP on a node's address": {[]string{etcd, "--listen=10.0.0.1:12346"}, "plain HTTP is for a loopback address"},
		"unknown moves":                  {[]string{etcd, "--moves=all"}, "off, requested, dry-run or automatic"},
		"a relative shared folder":       {[]string{etcd, "--shared-host-paths=data"}, "a folder of nodes is absolute"},
		"half a certificate":             {[]string{etcd, "--tls-cert=/a", "--tls-key=/b"}, "--tls-cert, --tls-key and --client-ca belong together"},
		"profiles on all addresses":      {[]string{etcd, "--pprof-listen=:6060"}, "profiles are for a loopback address"},
		"a port without a colon":         {[]string{etcd, "--listen=12346"}, "--listen \"12346\" is no address"},
		"a health port without a colon":  {[]string{etcd, "--health-listen=9440"}, "--health-listen \"9440\" is no address"},
		"a port out of range":            {[]string{etcd, "--health-listen=:70000"}, "is not from 0 to 65535"},
		"an unknown policy":              {[]string{etcd, "--policy=fastest"}, "none of growth, specon, iadeep, iadeep-literal, binpack, spread"},
		"a rate of zero":                 {[]string{etcd, "--kube-qps=0"}, "must be positive"},
		"an unknown level":               {[]string{etcd, "--log-level=loud"}, "none of debug, info, warn, error"},
		"a resource without domain":      {[]string{etcd, "--resource=gpu-mem"}, "has a domain"},
		"no bus":                         {nil, "no etcd endpoint"},
		"an argument":                    {[]string{etcd, "serve"}, "there are only flags"},
		"an unknown flag":                {[]string{etcd, "--fast"}, "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(nil, tc.arguments...)
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := parse(map[string]string{"TRELLIS_KUBE_BURST": "many"}, etcd, "--policy=fastest")
	require.ErrorContains(t, err, "TRELLIS_KUBE_BURST")
	require.ErrorContains(t, err, "fastest", "all errors are reported together")
}

func TestParse_HTTPSOnAnyAddress(t *testing.T) {
	c, err := parse(nil, etcd, "--listen=:12346", "--tls-cert=/a", "--tls-key=/b", "--client-ca=/c", "--pprof-listen=[::1]:6060")
	require.NoError(t, err)
	require.True(t, c.TLS.Given())
}

func TestParse_HelpAndVersionNeedNoBus(t *testing.T) {
	_, err := parse(nil, "--help")
	require.ErrorIs(t, err, pflag.ErrHelp)
	_, err = parse(nil, "--version")
	require.NoError(t, err)
}
