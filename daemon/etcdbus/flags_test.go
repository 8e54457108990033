package etcdbus_test

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
)

func TestFlagsOverrideTheEnvironment(t *testing.T) {
	t.Setenv("TRELLIS_ETCD_ENDPOINTS", "https://a:2379,https://b:2379")
	t.Setenv("TRELLIS_ETCD_CA", "/env/ca")
	var c etcdbus.Config
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	c.AddFlags(flags)
	require.NoError(t, flags.Parse([]string{"--etcd-ca=/flag/ca", "--etcd-cert=c", "--etcd-key=k"}))
	require.Equal(t, []string{"https://a:2379", "https://b:2379"}, c.Endpoints)
	require.Equal(t, "/flag/ca", c.CAFile)
	require.NoError(t, c.Validate())
}
