package config_test

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/config"
)

const etcd = "--etcd-endpoints=http://127.0.0.1:2379"

func TestDefaultsServe(t *testing.T) {
	s, err := config.Parse([]string{etcd})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:12346", s.Listen)
	require.Equal(t, ":9440", s.HealthListen)
	require.Equal(t, "growth", s.Policy)
	require.Equal(t, float32(200), s.Kube.QPS)
	require.Equal(t, 400, s.Kube.Burst)
}

func TestFlagsGoOverTheEnvironment(t *testing.T) {
	t.Setenv("TRELLIS_POLICY", "spread")
	t.Setenv("TRELLIS_KUBE_QPS", "50")
	t.Setenv("TRELLIS_LISTEN", "127.0.0.2:1")
	s, err := config.Parse([]string{etcd, "--listen=[::1]:2"})
	require.NoError(t, err)
	require.Equal(t, "spread", s.Policy)
	require.Equal(t, float32(50), s.Kube.QPS)
	require.Equal(t, "[::1]:2", s.Listen)
}

func TestNonsenseIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		arguments []string
		says      string
	}{
		"plain HTTP for everybody":  {[]string{etcd, "--listen=:12346"}, "plain HTTP is for a loopback address"},
		"plain HTTP on an address":  {[]string{etcd, "--listen=10.0.0.1:12346"}, "plain HTTP is for a loopback address"},
		"half a certificate":        {[]string{etcd, "--tls-cert=/a", "--tls-key=/b"}, "--tls-cert, --tls-key and --client-ca belong together"},
		"profiles for everybody":    {[]string{etcd, "--pprof-listen=:6060"}, "profiles are for a loopback address"},
		"no address at all":         {[]string{etcd, "--listen=12346"}, "--listen \"12346\" is no address"},
		"no address":                {[]string{etcd, "--health-listen=9440"}, "--health-listen \"9440\" is no address"},
		"a port out of range":       {[]string{etcd, "--health-listen=:70000"}, "is not from 0 to 65535"},
		"an unknown policy":         {[]string{etcd, "--policy=fastest"}, "none of growth, specon, iadeep, binpack, spread"},
		"no calls at all":           {[]string{etcd, "--kube-qps=0"}, "must be more than nothing"},
		"an unknown level":          {[]string{etcd, "--log-level=loud"}, "none of debug, info, warn, error"},
		"a resource without domain": {[]string{etcd, "--resource=gpu-mem"}, "has a domain"},
		"no bus":                    {nil, "no etcd endpoint"},
		"an argument":               {[]string{etcd, "serve"}, "there are only flags"},
		"an unknown flag":           {[]string{etcd, "--fast"}, "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse(tc.arguments)
			require.ErrorContains(t, err, tc.says)
		})
	}
	t.Setenv("TRELLIS_KUBE_BURST", "many")
	_, err := config.Parse([]string{etcd})
	require.ErrorContains(t, err, "must be more than nothing")
}

func TestHTTPSServesEverybodyWithACertificate(t *testing.T) {
	s, err := config.Parse([]string{etcd, "--listen=:12346", "--tls-cert=/a", "--tls-key=/b", "--client-ca=/c", "--pprof-listen=[::1]:6060"})
	require.NoError(t, err)
	require.True(t, s.TLS.Given())
}

func TestHelpAndVersionNeedNoBus(t *testing.T) {
	_, err := config.Parse([]string{"--help"})
	require.ErrorIs(t, err, pflag.ErrHelp)
	s, err := config.Parse([]string{"--version"})
	require.NoError(t, err)
	require.True(t, s.Version)
}
