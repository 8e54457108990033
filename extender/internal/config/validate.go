package config

import (
	"errors"
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Validate implements daemon.Config.
func (c *Config) Validate() error {
	_, policyErr := placement.NewPolicy(c.Policy, nil)
	invalid := []error{
		validateAddress("listen", c.Listen),
		c.TLS.Validate(),
		validateAddress("health-listen", c.HealthListen),
		policyErr,
	}
	if !c.TLS.Given() && !loopback(c.Listen) {
		invalid = append(invalid, fmt.Errorf(
			"--listen %q: plain HTTP is for a loopback address such as 127.0.0.1:12346, next to "+
				"kube-scheduler in its pod; anywhere else give --tls-cert, --tls-key and --client-ca", c.Listen))
	}
	if c.PprofListen != "" && !loopback(c.PprofListen) {
		invalid = append(invalid, fmt.Errorf(
			"--pprof-listen %q: profiles are for a loopback address such as 127.0.0.1:6060", c.PprofListen))
	}
	for _, folder := range c.SharedPaths {
		if !path.IsAbs(folder) {
			invalid = append(invalid, fmt.Errorf("--shared-host-paths %q: a folder of nodes is absolute, such as /mnt/nfs", folder))
		}
	}
	if prefix, name, _ := strings.Cut(c.Resource, "/"); prefix == "" || name == "" {
		invalid = append(invalid, fmt.Errorf(
			"--resource %q: an extended resource has a domain, as in %s", c.Resource, gpushare.Resource))
	}
	if !(c.Kube.QPS > 0) || c.Kube.Burst < 1 {
		invalid = append(invalid, fmt.Errorf(
			"--kube-qps %g and --kube-burst %d: both must be positive", c.Kube.QPS, c.Kube.Burst))
	}
	return errors.Join(append(invalid, c.Etcd.Validate())...)
}

// loopback reports whether an address to listen on is a loopback address.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}

// validateAddress returns an error unless the value of a flag is a host and a port.
func validateAddress(flag, value string) error {
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		return fmt.Errorf("--%s %q is no address such as 127.0.0.1:12346: %w", flag, value, err)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("--%s %q: port %d is not from 0 to 65535", flag, value, n)
	}
	return nil
}
