package etcdbus

import (
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// AddFlags binds the configuration to the flags that all binaries share. Each flag's default comes from an
// environment variable of the same name: --etcd-ca from TRELLIS_ETCD_CA.
func (c *Config) AddFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&c.Endpoints, "etcd-endpoints", fields(os.Getenv("TRELLIS_ETCD_ENDPOINTS")),
		"comma-separated URLs of the state bus, such as https://trellis-etcd:2379 [TRELLIS_ETCD_ENDPOINTS]")
	flags.StringVar(&c.CAFile, "etcd-ca", os.Getenv("TRELLIS_ETCD_CA"),
		"PEM file of the CA that signed the bus's certificate [TRELLIS_ETCD_CA]")
	flags.StringVar(&c.CertFile, "etcd-cert", os.Getenv("TRELLIS_ETCD_CERT"),
		"PEM file of our client certificate for the bus [TRELLIS_ETCD_CERT]")
	flags.StringVar(&c.KeyFile, "etcd-key", os.Getenv("TRELLIS_ETCD_KEY"),
		"PEM file of that certificate's key [TRELLIS_ETCD_KEY]")
	flags.StringVar(&c.ServerName, "etcd-server-name", os.Getenv("TRELLIS_ETCD_SERVER_NAME"),
		"name that the bus's certificate must bear, where it is not the endpoint's [TRELLIS_ETCD_SERVER_NAME]")
}

func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}
