package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpuhealth"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Values of the flags that choose.
const (
	deliverEnv  = "env"
	deliverCDI  = "cdi"
	shareByTime = "timeslice"
	shareByMPS  = "mps"
	excessWarn  = "warn"
	excessEvict = "evict"
)

// config is all that can be set. Every flag has a twin in the environment.
type config struct {
	node         string
	gpus         string
	memoryUnit   string
	resource     string
	pluginDir    string
	podResources string
	stateDir     string
	health       string
	kubeconfig   string
	logLevel     string
	delivery     string
	cdiDir       string
	driverRoot   string
	sharing      string
	mpsProgram   string
	xidPolicy    string
	recoverAfter time.Duration
	lossAfter    time.Duration
	proc         string
	onExcess     string
	excessSlack  string
	output       string
	dryRun       bool
	version      bool
	etcd         etcdbus.Config
}

// parse reads flags, with defaults from the environment.
func parse(args []string) (config, error) {
	var c config
	var twinErr error
	flags := pflag.NewFlagSet("deviceplugin", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Usage = func() {
		fmt.Fprintf(os.Stderr, "deviceplugin offers the memory of this node's GPUs to kubelet, in units.\n\nFlags, each with its environment variable:\n%s", flags.FlagUsages())
	}
	str := func(p *string, name, value, usage string) {
		twin := "TRELLIS_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if name == "node-name" {
			twin = "NODE_NAME" // what everybody calls it in a DaemonSet
		}
		if set, ok := os.LookupEnv(twin); ok {
			value = set
		}
		flags.StringVar(p, name, value, usage+" ["+twin+"]")
	}
	duration := func(p *time.Duration, name string, value time.Duration, usage string) {
		twin := "TRELLIS_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if set, ok := os.LookupEnv(twin); ok {
			if value, twinErr = time.ParseDuration(set); twinErr != nil {
				twinErr = fmt.Errorf("%s: %w", twin, twinErr)
			}
		}
		flags.DurationVar(p, name, value, usage+" ["+twin+"]")
	}
	str(&c.node, "node-name", "", "name of the Kubernetes node this runs on")
	str(&c.gpus, "gpus", gpu.NVML, "where GPUs come from: nvml asks the driver, emulated:2x24GiB invents two")
	str(&c.memoryUnit, "memory-unit", "1Gi", "GPU memory that one device stands for")
	str(&c.resource, "resource", gpushare.Resource, "extended resource to offer")
	str(&c.pluginDir, "plugin-dir", "/var/lib/kubelet/device-plugins", "kubelet's folder of device plugins")
	str(&c.podResources, "pod-resources", "/var/lib/kubelet/pod-resources/kubelet.sock", "kubelet's PodResources socket")
	str(&c.stateDir, "state-dir", gpushare.StateDir, "folder shared with the coordinator, the same path here as on the host")
	str(&c.health, "health-listen", ":9441", "address of /livez, /readyz and /metrics")
	str(&c.kubeconfig, "kubeconfig", "", "file with access to the API server; empty inside a pod")
	str(&c.logLevel, "log-level", "info", "debug, info, warn or error")
	str(&c.delivery, "delivery", deliverEnv, "how containers get their GPUs: env (NVIDIA_VISIBLE_DEVICES, for NVIDIA's runtime) or cdi")
	str(&c.cdiDir, "cdi-dir", "/var/run/cdi", "folder in which the runtime looks for CDI specifications")
	str(&c.driverRoot, "driver-root", "/", "the host's root folder, where the driver's libraries are found for CDI")
	str(&c.sharing, "sharing", shareByTime, "how jobs share a GPU: timeslice, or mps (limits that the driver enforces)")
	str(&c.mpsProgram, "mps-program", "nvidia-cuda-mps-control", "MPS control daemon")
	str(&c.xidPolicy, "xid-policy", "", "changes to what XID errors do, such as 109=ignore,74=unhealthy-until-reset,other=ignore")
	duration(&c.recoverAfter, "recover-after", 2*time.Minute, "how long a GPU must be fine to take new jobs again")
	duration(&c.lossAfter, "loss-after", 2*time.Minute, "how long the driver may be silent before its GPUs take no new jobs")
	str(&c.proc, "proc", "/proc", "the host's /proc, by which processes on a GPU are found in their pods")
	str(&c.onExcess, "on-excess", excessWarn, "what comes after the warning to a job that uses more GPU memory than it asked for: warn (nothing), or evict")
	str(&c.excessSlack, "excess-slack", "1Gi", "GPU memory that a job may use beyond its request: a CUDA context alone takes some hundred MiB")
	flags.BoolVar(&c.dryRun, "dry-run", false, "print what would be advertised, and exit")
	flags.StringVarP(&c.output, "output", "o", "text", "how --dry-run prints: text or json")
	flags.BoolVar(&c.version, "version", false, "print the version, and exit")
	c.etcd.AddFlags(flags)
	if err := errors.Join(twinErr, flags.Parse(args)); err != nil {
		return config{}, err
	}
	if flags.NArg() > 0 {
		return config{}, fmt.Errorf("unexpected argument %q: there are only flags, see --help", flags.Arg(0))
	}
	return c, nil
}

// qualified is a resource name as Kubernetes wants it: domain/name.
var qualified = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)

// Validate names everything that is wrong.
func (c config) Validate() error {
	var wrong []error
	if c.node == "" {
		wrong = append(wrong, errors.New("--node-name is missing: in a DaemonSet, set NODE_NAME from spec.nodeName"))
	}
	if _, ok, err := gpu.ParseEmulated(c.gpus, ""); err != nil {
		wrong = append(wrong, fmt.Errorf("--gpus: %w", err))
	} else if !ok && c.gpus != gpu.NVML {
		wrong = append(wrong, fmt.Errorf("--gpus: %q is neither nvml nor emulated:<count>x<memory>", c.gpus))
	}
	if _, err := c.unit(); err != nil {
		wrong = append(wrong, err)
	}
	if !qualified.MatchString(c.resource) {
		wrong = append(wrong, fmt.Errorf("--resource: %q is no extended resource such as %s", c.resource, gpushare.Resource))
	}
	for name, path := range map[string]string{"plugin-dir": c.pluginDir, "pod-resources": c.podResources, "state-dir": c.stateDir, "cdi-dir": c.cdiDir, "driver-root": c.driverRoot, "proc": c.proc} {
		if !filepath.IsAbs(path) {
			wrong = append(wrong, fmt.Errorf("--%s: %q is not an absolute path", name, path))
		}
	}
	wrong = append(wrong, c.choices()...)
	if _, err := c.level(); err != nil {
		wrong = append(wrong, err)
	}
	if !c.dryRun {
		if err := c.etcd.Validate(); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// choices checks the flags that choose how GPUs are shared, delivered and judged.
func (c config) choices() []error {
	var wrong []error
	for name, choice := range map[string][]string{
		"delivery " + c.delivery:  {deliverEnv, deliverCDI},
		"sharing " + c.sharing:    {shareByTime, shareByMPS},
		"on-excess " + c.onExcess: {excessWarn, excessEvict},
		"output " + c.output:      {"text", "json"},
	} {
		if flag, value, _ := strings.Cut(name, " "); !slices.Contains(choice, value) {
			wrong = append(wrong, fmt.Errorf("--%s: %q is neither %s", flag, value, strings.Join(choice, " nor ")))
		}
	}
	if _, err := gpuhealth.ParsePolicy(c.xidPolicy); err != nil {
		wrong = append(wrong, fmt.Errorf("--xid-policy: %w", err))
	}
	if _, err := gpushare.ParseMemory(c.excessSlack); err != nil {
		wrong = append(wrong, fmt.Errorf("--excess-slack: %q %w", c.excessSlack, err))
	}
	if c.recoverAfter <= 0 || c.lossAfter <= 0 {
		wrong = append(wrong, errors.New("--recover-after and --loss-after must be longer than nothing"))
	}
	if c.sharing == shareByMPS && c.gpus != gpu.NVML {
		wrong = append(wrong, errors.New("--sharing=mps: emulated GPUs have no MPS"))
	}
	return wrong
}

func (c config) unit() (growth.MiB, error) {
	unit, err := gpushare.ParseMemory(c.memoryUnit)
	if err != nil {
		return 0, fmt.Errorf("--memory-unit: %q %w", c.memoryUnit, err)
	}
	return unit, nil
}

func (c config) level() (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
		return 0, fmt.Errorf("--log-level: %q is none of debug, info, warn, error", c.logLevel)
	}
	return level, nil
}
