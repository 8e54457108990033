package etcdbus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/daemon/flags"
)

func TestConfig_FlagsOverrideTheEnvironment(t *testing.T) {
	env := map[string]string{"TRELLIS_ETCD_ENDPOINTS": "https://a:2379,https://b:2379", "TRELLIS_ETCD_CA": "/env/ca"}
	var c etcdbus.Config
	set := flags.New("test")
	c.AddFlags(set)
	args := []string{"--etcd-ca=/flag/ca", "--etcd-cert=c", "--etcd-key=k"}
	require.NoError(t, set.Parse(args, func(name string) string { return env[name] }))
	require.Equal(t, []string{"https://a:2379", "https://b:2379"}, c.Endpoints)
	require.Equal(t, "/flag/ca", c.CAFile)
	require.NoError(t, c.Validate())
}
