package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// options are the command line. Each flag's default comes from the environment: --interval from TRELLIS_INTERVAL.
type options struct {
	node       string
	policy     string
	objective  string
	gpuTime    bool
	enforce    string
	interval   time.Duration
	alpha      float64
	beta       float64
	stateDir   string
	podLogs    string
	cgroupRoot string
	health     string
	kubeconfig string
	logLevel   string
	version    bool
	explain    string
	output     string
	etcd       etcdbus.Config
}

// The ways of --enforce.
const (
	byResize = "resize"
	byCgroup = "cgroup"
)

const about = `coordinator watches the training jobs of one node: it reads their progress, works out how much each still
grows, divides the node's CPU accordingly by resizing the pods' CPU requests in place, hands the tuner's advice to the
jobs, and publishes what it sees. It runs as a DaemonSet on nodes labelled gpushare=true.

Flags (each can be set by the environment variable in brackets):
`

func parse(args []string) (options, error) {
	var o options
	flags := pflag.NewFlagSet("coordinator", pflag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, about+flags.FlagUsages()) }
	var bad []error
	flags.StringVar(&o.node, "node-name", cmp.Or(os.Getenv("NODE_NAME"), os.Getenv("TRELLIS_NODE_NAME")), "the node to watch [NODE_NAME]")
	flags.StringVar(&o.policy, "policy", env("POLICY", string(policy.Default)), "how CPU is divided: harmless, flowcon, flowcon-literal, fair [TRELLIS_POLICY]")
	flags.StringVar(&o.objective, "objective", env("OBJECTIVE", "balanced"), "what harmless spends slack on: finish (jobs that end soonest), growth (metrics that are good soonest), balanced, or a number between, 0 to 1 [TRELLIS_OBJECTIVE]")
	flags.BoolVar(&o.gpuTime, "gpu-time", envAs("GPU_TIME", false, strconv.ParseBool, &bad), "let shares rule how much of the time jobs on one GPU may compute, by the shim's step gate; of no use on emulated GPUs [TRELLIS_GPU_TIME]")
	flags.StringVar(&o.enforce, "enforce", env("ENFORCE", byResize), "how CPU shares are carried to the kernel: resize (pods' requests, in place), or cgroup (weights, for clusters before 1.33; needs --cgroup-root writable) [TRELLIS_ENFORCE]")
	flags.DurationVar(&o.interval, "interval", envAs("INTERVAL", policy.DefaultInterval, time.ParseDuration, &bad), "time between two rounds of observing and deciding [TRELLIS_INTERVAL]")
	flags.Float64Var(&o.alpha, "alpha", envAs("ALPHA", policy.DefaultAlpha, float, &bad), "growth below this part of a job's own peak is low [TRELLIS_ALPHA]")
	flags.Float64Var(&o.beta, "beta", envAs("BETA", policy.DefaultBeta, float, &bad), "no job of n falls below 1/(beta·n) of the CPU, 1 to 4 [TRELLIS_BETA]")
	flags.StringVar(&o.stateDir, "state-dir", env("STATE_DIR", gpushare.StateDir), "folder shared with the device plugin, holding the jobs' slots [TRELLIS_STATE_DIR]")
	flags.StringVar(&o.podLogs, "pod-logs", env("POD_LOGS", "/var/log/pods"), "where kubelet keeps containers' logs [TRELLIS_POD_LOGS]")
	flags.StringVar(&o.cgroupRoot, "cgroup-root", env("CGROUP_ROOT", "/sys/fs/cgroup"), "the node's cgroups, version 1 or 2 [TRELLIS_CGROUP_ROOT]")
	flags.StringVar(&o.health, "health-listen", env("HEALTH_LISTEN", ":9442"), "address of /livez, /readyz and /metrics [TRELLIS_HEALTH_LISTEN]")
	flags.StringVar(&o.kubeconfig, "kubeconfig", env("KUBECONFIG", ""), "how to reach the API server; empty inside a cluster [TRELLIS_KUBECONFIG]")
	flags.StringVar(&o.logLevel, "log-level", env("LOG_LEVEL", "info"), "debug, info, warn or error [TRELLIS_LOG_LEVEL]")
	flags.StringVar(&o.explain, "explain", "", "print why a pod of this node, namespace/name, has the share it has, and exit; asks the coordinator that runs here")
	flags.StringVarP(&o.output, "output", "o", string(explain.Table), "how --explain prints: table or json")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	o.etcd.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.version {
		return o, nil
	}
	if o.explain != "" {
		return o, explain.Format(o.output).Validate()
	}
	return o, errors.Join(append(bad, o.Validate())...)
}

// Validate names what is wrong.
func (o options) Validate() error {
	if o.node == "" {
		return errors.New("--node-name is empty: set it, or NODE_NAME from spec.nodeName by the downward API")
	}
	if _, err := o.level(); err != nil {
		return err
	}
	if o.enforce != byResize && o.enforce != byCgroup {
		return fmt.Errorf("--enforce %q: %s or %s", o.enforce, byResize, byCgroup)
	}
	_, err := fairfinish.ParseObjective(o.objective)
	if err != nil {
		return fmt.Errorf("--%w", err)
	}
	if err := o.loop().Validate(); err != nil {
		return err
	}
	return o.etcd.Validate()
}

func (o options) loop() node.Config {
	objective, _ := fairfinish.ParseObjective(o.objective) // Validate has
	return node.Config{
		Policy:        policy.Name(o.policy),
		Interval:      o.interval,
		Alpha:         o.alpha,
		Beta:          o.beta,
		Objective:     objective,
		GPUTime:       o.gpuTime,
		DirectWeights: o.enforce == byCgroup,
		Damping:       node.KubeletDamping(o.interval),
	}
}

func (o options) level() (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return 0, fmt.Errorf("--log-level %q: one of debug, info, warn, error", o.logLevel)
	}
	return level, nil
}

func env(name, otherwise string) string { return cmp.Or(os.Getenv("TRELLIS_"+name), otherwise) }

func envAs[T any](name string, otherwise T, parse func(string) (T, error), bad *[]error) T {
	text := os.Getenv("TRELLIS_" + name)
	if text == "" {
		return otherwise
	}
	value, err := parse(text)
	if err != nil {
		*bad = append(*bad, fmt.Errorf("environment variable TRELLIS_%s: %w", name, err))
		return otherwise
	}
	return value
}

func float(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
