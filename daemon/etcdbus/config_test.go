package etcdbus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
)

func TestOpen_AddsBracketsToIPv6Addresses(t *testing.T) {
	files := writePair(t, "trellis-etcd")
	for name, tc := range map[string]struct{ given, want string }{
		"a Service on an IPv6 cluster":   {"https://fd00:10:96::7:2379", "https://[fd00:10:96::7]:2379"},
		"without TLS":                    {"http://fd00:10:96::7:2379", "http://[fd00:10:96::7]:2379"},
		"loopback":                       {"https://::1:2379", "https://[::1]:2379"},
		"a whole address":                {"https://fd00:1:2:3:4:5:6:7:2379", "https://[fd00:1:2:3:4:5:6:7]:2379"},
		"an embedded IPv4 address":       {"https://::ffff:10.0.0.1:2379", "https://[::ffff:10.0.0.1]:2379"},
		"brackets already":               {"https://[fd00:10:96::7]:2379", "https://[fd00:10:96::7]:2379"},
		"IPv4":                           {"https://10.0.0.1:2379", "https://10.0.0.1:2379"},
		"a name":                         {"https://trellis-etcd:2379", "https://trellis-etcd:2379"},
		"a name without a port":          {"https://trellis-etcd", "https://trellis-etcd"},
		"no address, but several colons": {"https://a:b:2379", "https://a:b:2379"},
	} {
		t.Run(name, func(t *testing.T) {
			c := etcdbus.Config{Endpoints: []string{tc.given}}
			if tc.given[:5] == "https" {
				c.CAFile, c.CertFile, c.KeyFile = files.TrustedCAFile, files.CertFile, files.KeyFile
			}
			b, err := etcdbus.Open(c)
			require.NoError(t, err)
			t.Cleanup(func() { _ = b.Close() })
			require.Equal(t, []string{tc.want}, b.Endpoints())
			require.Equal(t, []string{tc.given}, c.Endpoints, "the caller's configuration")
		})
	}
}
