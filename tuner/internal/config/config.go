package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
)

// Config is what the tuner is told.
type Config struct {
	Listen, HealthListen       string
	Every                      time.Duration
	LeaderElect                bool
	LeaseNamespace, Kubeconfig string
	LogLevel                   slog.Level
	Version                    bool
	Etcd                       etcdbus.Config
}

const usage = `tuner learns how fast each job trains with how many data-loader workers, divides every node's cores for loading
among its jobs, and publishes that as advice on the state bus. It serves what it sees to people: a page and an API.

Usage: tuner --etcd-endpoints=https://… [flags]

Every flag can be given in the environment too: --listen as TRELLIS_LISTEN, and so on.

`

// Parse reads the command line, with the environment below it. The error is pflag.ErrHelp where help was asked for.
func Parse(args []string, getenv func(string) string) (Config, error) {
	var o Config
	flags := pflag.NewFlagSet("tuner", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Usage = func() { fmt.Fprint(flags.Output(), usage, flags.FlagUsages()) }
	o.Etcd.AddFlags(flags)
	flags.StringVar(&o.Listen, "listen", ":8080", "address of the page and the API for people")
	flags.StringVar(&o.HealthListen, "health-listen", ":9443", "address of /livez, /readyz and /metrics")
	flags.DurationVar(&o.Every, "interval", 2*time.Second, "how often every node's cores are divided anew, 1s to 10m")
	flags.BoolVar(&o.LeaderElect, "leader-elect", getenv("KUBERNETES_SERVICE_HOST") != "",
		"advise only while holding a Lease; by default where there is a cluster to hold it in (in a pod, or with --kubeconfig)")
	flags.StringVar(&o.LeaseNamespace, "lease-namespace", getenv("POD_NAMESPACE"), "namespace of that Lease [POD_NAMESPACE]")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig of the cluster that holds the Lease; in a pod its own account")
	flags.TextVar(&o.LogLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
	flags.BoolVar(&o.Version, "version", false, "print the version and exit")
	if err := fromEnvironment(flags, getenv); err != nil {
		return Config{}, err
	}
	if err := flags.Parse(args); err != nil {
		return Config{}, err
	}
	if flags.NArg() > 0 {
		return Config{}, fmt.Errorf("%q is no flag: see tuner --help", flags.Arg(0))
	}
	if o.Kubeconfig != "" && !flags.Changed("leader-elect") {
		o.LeaderElect = true
	}
	if o.Version {
		return o, nil
	}
	return o, o.Validate()
}

// fromEnvironment sets the flags that the environment gives. The bus's flags read theirs themselves.
func fromEnvironment(flags *pflag.FlagSet, getenv func(string) string) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := "TRELLIS_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value := getenv(name)
		if value == "" || err != nil || f.Name == "version" || strings.HasPrefix(f.Name, "etcd-") {
			return
		}
		if bad := flags.Set(f.Name, value); bad != nil {
			err = fmt.Errorf("%s: %w", name, bad)
		}
	})
	return err
}

// Validate names everything that is wrong.
func (o Config) Validate() error {
	var wrong []error
	for name, address := range map[string]string{"--listen": o.Listen, "--health-listen": o.HealthListen} {
		if _, _, err := net.SplitHostPort(address); err != nil {
			wrong = append(wrong, fmt.Errorf("%s %q: give an address such as :8080: %w", name, address, err))
		}
	}
	if o.Every < time.Second || o.Every > 10*time.Minute {
		wrong = append(wrong, fmt.Errorf("--interval %s: from 1s to 10m", o.Every))
	}
	if o.LeaderElect && o.LeaseNamespace == "" {
		wrong = append(wrong, errors.New("--leader-elect needs --lease-namespace (or POD_NAMESPACE): the Lease has to be somewhere"))
	}
	if o.Kubeconfig != "" {
		if _, err := os.Stat(o.Kubeconfig); err != nil {
			wrong = append(wrong, fmt.Errorf("--kubeconfig: %w", err))
		}
	}
	return errors.Join(append(wrong, o.Etcd.Validate())...)
}
