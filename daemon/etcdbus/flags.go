package etcdbus

import "github.com/trellis-gpu/trellis/daemon/flags"

// AddFlags binds the configuration to flags. They are the same in every binary.
func (c *Config) AddFlags(set *flags.Set) {
	set.StringSliceVar(&c.Endpoints, "etcd-endpoints", nil, "comma-separated URLs of the state bus, such as https://trellis-etcd:2379")
	set.StringVar(&c.CAFile, "etcd-ca", "", "PEM file of the CA that signed the bus's certificate")
	set.StringVar(&c.CertFile, "etcd-cert", "", "PEM file of the client certificate for the bus")
	set.StringVar(&c.KeyFile, "etcd-key", "", "PEM file of that certificate's key")
	set.StringVar(&c.ServerName, "etcd-server-name", "", "name in the bus's certificate, if it is not the endpoint's")
}
