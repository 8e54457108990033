package config

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/daemon/flags"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/tuner/internal/runs"
)

// About is the first paragraph of --help.
const About = `tuner learns the throughput of each job by its number of data-loader workers. It divides the cores of each node that are
left for loading among the node's jobs, and publishes the result as advice on the state bus. It learns how much jobs that
share a GPU slow one another down, and publishes that as a model for placement. It merges what coordinators have learned about
programs into a history for all nodes. It also serves a dashboard and an API.`

// DefaultInterval is that of a coordinator: advice cannot follow anything faster.
const DefaultInterval = 5 * time.Second

// Config is the configuration of the tuner.
type Config struct {
	// Listen is the address of the dashboard and its API.
	Listen string
	// HealthListen is the address of the probes and the metrics.
	HealthListen string
	// Interval is the longest time between two rounds of advice.
	Interval time.Duration
	// Reallocate says when the data-loader workers of running jobs may change.
	Reallocate loader.Reallocate
	// LeaseNamespace is the namespace of the Lease of leader election.
	LeaseNamespace string
	// Sharing lists the namespaces whose jobs are predicted from one another.
	Sharing    runs.Sharing
	Kubeconfig string
	Etcd       etcdbus.Config

	shared      string
	leaderElect bool
	// leaderElectGiven reports whether the flag or its environment variable is set.
	leaderElectGiven func() bool
	inCluster        bool
}

// New returns a configuration whose defaults depend on whether the process runs in a pod.
func New(getenv func(string) string) *Config {
	return &Config{
		inCluster:        getenv("KUBERNETES_SERVICE_HOST") != "",
		leaderElectGiven: func() bool { return false },
	}
}

// AddFlags implements daemon.Config.
func (c *Config) AddFlags(set *flags.Set) {
	set.StringVar(&c.Listen, "listen", ":8080", "address of the dashboard and its API")
	set.StringVar(&c.HealthListen, "health-listen", ":9443", "address of /livez, /readyz and /metrics")
	set.DurationVar(&c.Interval, "interval", DefaultInterval, "longest time between two rounds of advice, 1s to 10m; jobs that come or go begin one within 2s")
	set.StringVar((*string)(&c.Reallocate), "loaders-reallocate", string(loader.Always),
		"when data-loader workers are divided again: arrival or departure of a job, both, never, or always, which also follows "+
			"growth and measurements")
	set.BoolVar(&c.leaderElect, "leader-elect", false,
		"give advice only while holding a Lease; true by default in a pod and with --kubeconfig")
	c.leaderElectGiven = func() bool { return set.Given("leader-elect") }
	set.StringVar(&c.LeaseNamespace, "lease-namespace", "", "namespace of the Lease")
	set.Env("lease-namespace", "POD_NAMESPACE")
	set.StringVar(&c.shared, "share-programs", "",
		`namespaces whose jobs are predicted from one another's runs, separated by commas; "*" for all. Others only from their own. `+
			"Recommended requests always come from a job's own namespace")
	set.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster with the Lease; empty inside a cluster")
	c.Etcd.AddFlags(set)
}

// Elect reports whether this replica advises only while it is the leader.
func (c *Config) Elect() bool {
	if c.leaderElectGiven() {
		return c.leaderElect
	}
	return c.inCluster || c.Kubeconfig != ""
}

// Validate implements daemon.Config.
func (c *Config) Validate() error {
	var invalid []error
	for _, flag := range []struct{ name, address string }{{"--listen", c.Listen}, {"--health-listen", c.HealthListen}} {
		if _, _, err := net.SplitHostPort(flag.address); err != nil {
			invalid = append(invalid, fmt.Errorf("%s %q: give an address such as :8080: %w", flag.name, flag.address, err))
		}
	}
	if c.Interval < time.Second || c.Interval > 10*time.Minute {
		invalid = append(invalid, fmt.Errorf("--interval %s: give a time from 1s to 10m", c.Interval))
	}
	if err := c.Reallocate.Validate(); err != nil {
		invalid = append(invalid, fmt.Errorf("--loaders-reallocate %w", err))
	}
	if c.Elect() && c.LeaseNamespace == "" {
		invalid = append(invalid, errors.New("--leader-elect needs a namespace for the Lease: set --lease-namespace or POD_NAMESPACE"))
	}
	var err error
	if c.Sharing, err = runs.ParseSharing(c.shared); err != nil {
		invalid = append(invalid, fmt.Errorf("--share-programs: %w", err))
	}
	if c.Kubeconfig != "" {
		if _, err := os.Stat(c.Kubeconfig); err != nil {
			invalid = append(invalid, fmt.Errorf("--kubeconfig: %w", err))
		}
	}
	return errors.Join(append(invalid, c.Etcd.Validate())...)
}
