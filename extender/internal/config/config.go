package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/trellis-gpu/trellis/daemon/credentials"
	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/extender/internal/apiserver"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Config are the extender's.
type Config struct {
	// Listen is where the scheduler asks, HealthListen where probes and metrics are, PprofListen where profiles are, if anywhere.
	Listen, HealthListen, PprofListen string
	// TLS are the files for HTTPS with client certificates on Listen. Without them it must be a loopback address.
	TLS credentials.Files
	// Policy names the placement policy, Resource the extended resource that pods ask for.
	Policy, Resource string
	// Resubmit makes pods anew that kubelet refused and that no controller makes anew.
	Resubmit bool
	Kube     apiserver.Config
	Etcd     etcdbus.Config
	// LogLevel is debug, info, warn or error.
	LogLevel string
	// Version asks for the version alone.
	Version bool
}

// Parse reads flags over their environment twins. pflag.ErrHelp means that help was asked for and printed.
func Parse(arguments []string) (Config, error) {
	var s Config
	flags := pflag.NewFlagSet("extender", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Usage = func() {
		fmt.Fprintf(os.Stderr, "extender tells kube-scheduler which GPU shares there are, how good each is, and binds pods to them.\n\n%s",
			flags.FlagUsages())
	}
	flags.StringVar(&s.Listen, "listen", env("LISTEN", "127.0.0.1:12346"),
		"address on which kube-scheduler asks: plain HTTP on a loopback address, HTTPS with client certificates elsewhere [TRELLIS_LISTEN]")
	flags.StringVar(&s.TLS.Cert, "tls-cert", env("TLS_CERT", ""),
		"certificate to show, with its chain; read again when it changes [TRELLIS_TLS_CERT]")
	flags.StringVar(&s.TLS.Key, "tls-key", env("TLS_KEY", ""),
		"its key [TRELLIS_TLS_KEY]")
	flags.StringVar(&s.TLS.ClientCA, "client-ca", env("CLIENT_CA", ""),
		"authorities that sign the certificates of those who may ask [TRELLIS_CLIENT_CA]")
	flags.StringVar(&s.HealthListen, "health-listen", env("HEALTH_LISTEN", ":9440"),
		"address of /livez, /readyz and /metrics [TRELLIS_HEALTH_LISTEN]")
	flags.StringVar(&s.PprofListen, "pprof-listen", env("PPROF_LISTEN", ""),
		"loopback address of /debug/pprof/; empty for none [TRELLIS_PPROF_LISTEN]")
	flags.StringVar(&s.Policy, "policy", env("POLICY", "growth"),
		"which place is best: growth (most growth of all jobs together), specon (lowest weighted count of jobs), "+
			"iadeep (least interference), binpack (fullest GPU), spread (emptiest GPU) [TRELLIS_POLICY]")
	flags.StringVar(&s.Resource, "resource", env("RESOURCE", gpushare.Resource),
		"extended resource that pods ask for GPU memory by [TRELLIS_RESOURCE]")
	flags.BoolVar(&s.Resubmit, "resubmit", env("RESUBMIT", "false") == "true",
		"make bare pods anew that kubelet refused before they ran, while it or its device plugin was restarting; needs the right to "+
			"make and delete pods (deploy/components/resubmit) [TRELLIS_RESUBMIT]")
	flags.StringVar(&s.Kube.Kubeconfig, "kubeconfig", env("KUBECONFIG", ""),
		"file that says how to reach the API server; empty inside a cluster [TRELLIS_KUBECONFIG]")
	flags.Float32Var(&s.Kube.QPS, "kube-qps", float32(number("KUBE_QPS", 200)),
		"calls per second to the API server [TRELLIS_KUBE_QPS]")
	flags.IntVar(&s.Kube.Burst, "kube-burst", int(number("KUBE_BURST", 400)),
		"calls at once to the API server [TRELLIS_KUBE_BURST]")
	s.Etcd.AddFlags(flags)
	flags.StringVar(&s.LogLevel, "log-level", env("LOG_LEVEL", "info"),
		"debug, info, warn or error [TRELLIS_LOG_LEVEL]")
	flags.BoolVar(&s.Version, "version", false, "print the version and end")
	if err := flags.Parse(arguments); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q: there are only flags", flags.Arg(0))
	}
	if s.Version {
		return s, nil
	}
	return s, s.Validate()
}

// Validate names everything that makes no sense.
func (s Config) Validate() error {
	_, policy := placement.NewPolicy(s.Policy, interference.Prior())
	_, level := s.Level()
	problems := []error{address("listen", s.Listen), s.TLS.Validate(), address("health-listen", s.HealthListen), policy, level}
	if !s.TLS.Given() && !loopback(s.Listen) {
		problems = append(problems, fmt.Errorf("--listen %q: plain HTTP is for a loopback address such as 127.0.0.1:12346, beside kube-scheduler "+
			"in its pod; anywhere else give --tls-cert, --tls-key and --client-ca", s.Listen))
	}
	if s.PprofListen != "" && !loopback(s.PprofListen) {
		problems = append(problems, fmt.Errorf("--pprof-listen %q: profiles are for a loopback address such as 127.0.0.1:6060", s.PprofListen))
	}
	if prefix, name, _ := strings.Cut(s.Resource, "/"); prefix == "" || name == "" {
		problems = append(problems, fmt.Errorf("--resource %q: an extended resource has a domain, as in %s", s.Resource, gpushare.Resource))
	}
	if !(s.Kube.QPS > 0) || s.Kube.Burst < 1 {
		problems = append(problems, fmt.Errorf("--kube-qps %g and --kube-burst %d: both must be more than nothing", s.Kube.QPS, s.Kube.Burst))
	}
	return errors.Join(append(problems, s.Etcd.Validate())...)
}

// Level is the log level.
func (s Config) Level() (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		return level, fmt.Errorf("--log-level %q is none of debug, info, warn, error", s.LogLevel)
	}
	return level, nil
}

// loopback tells whether only this machine can reach the address.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}

func address(flag, value string) error {
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		return fmt.Errorf("--%s %q is no address such as 127.0.0.1:12346: %w", flag, value, err)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("--%s %q: port %d is not from 0 to 65535", flag, value, n)
	}
	return nil
}

func env(name, otherwise string) string {
	if value, ok := os.LookupEnv("TRELLIS_" + name); ok {
		return value
	}
	return otherwise
}

// number reads a number from the environment. Nonsense becomes zero, which Validate refuses.
func number(name string, otherwise float64) float64 {
	value, ok := os.LookupEnv("TRELLIS_" + name)
	if !ok {
		return otherwise
	}
	n, _ := strconv.ParseFloat(value, 64)
	return n
}
