package config

import (
	"time"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/daemon/flags"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// About is the first paragraph of --help.
const About = `deviceplugin offers the memory of this node's GPUs to kubelet, in units.`

// Values of --delivery, --sharing, --mps-threads, --on-excess and --output.
const (
	DeliverEnv     = "env"
	DeliverCDI     = "cdi"
	ShareByTime    = "timeslice"
	ShareByMPS     = "mps"
	ThreadsByCores = "cores"
	ThreadsByShare = "share"
	ExcessWarn     = "warn"
	ExcessEvict    = "evict"
	OutputText     = "text"
	OutputJSON     = "json"
)

// Config is the configuration of the device plugin. Most fields have the text of a flag; methods parse it.
type Config struct {
	Node         growth.NodeName
	GPUs         string // gpu.NVML or emulated GPUs
	NUMATopology bool   // kubelet learns the NUMA nodes
	MemoryUnit   string
	Resource     string
	PluginDir    string
	PodResources string // kubelet's socket
	StateDir     string
	HealthListen string
	Kubeconfig   string
	Delivery     string
	CDIDir       string
	DriverRoot   string
	Sharing      string
	MPSProgram   string
	MPSThreads   string
	XIDPolicy    string
	RecoverAfter time.Duration
	LossAfter    time.Duration
	Proc         string
	OnExcess     string
	ExcessSlack  string
	DryRun       bool
	Output       string // of DryRun
	Etcd         etcdbus.Config
}

// AddFlags implements daemon.Config.
func (c *Config) AddFlags(set *flags.Set) {
	set.StringVar((*string)(&c.Node), "node-name", "", "name of the Kubernetes node this runs on")
	set.Env("node-name", "NODE_NAME")
	set.StringVar(&c.GPUs, "gpus", gpu.NVML, "source of GPUs: nvml for those of the driver, emulated:2x24GiB for two emulated ones, "+
		"emulated:2x24GiB@numa=0,1 with the NUMA node of each, or emulated:1x24GiB,compute for GPUs that own a core of the node, on which "+
		"jobs do their work (GPUSHARE_EMULATED_CORE), so that the coordinator divides their time; /node-2=1x24GiB,compute at the end is "+
		"for that node alone")
	set.BoolVar(&c.NUMATopology, "numa-topology", true,
		"report the NUMA node of each GPU to kubelet. Its Topology Manager aligns a pod's CPUs with it, unless its policy is none")
	set.StringVar(&c.MemoryUnit, "memory-unit", "1Gi", "GPU memory of one device")
	set.StringVar(&c.Resource, "resource", gpushare.Resource, "extended resource to advertise")
	set.StringVar(&c.PluginDir, "plugin-dir", "/var/lib/kubelet/device-plugins", "kubelet's directory of device plugins; of several, separated by commas, the first in which kubelet answers")
	set.StringVar(&c.PodResources, "pod-resources", "/var/lib/kubelet/pod-resources/kubelet.sock", "kubelet's PodResources socket")
	set.StringVar(&c.StateDir, "state-dir", gpushare.StateDir, "directory shared with the coordinator; it must have the same path in the container and on the host")
	set.StringVar(&c.HealthListen, "health-listen", ":9441", "address of /livez, /readyz and /metrics")
	set.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig file of the API server; empty inside a cluster")
	c.addSharingFlags(set)
	c.addHealthFlags(set)
	set.BoolVar(&c.DryRun, "dry-run", false, "print what would be advertised, and exit")
	set.StringVarP(&c.Output, "output", "o", OutputText, "how --dry-run prints: text or json")
	set.CommandLineOnly("dry-run", "output")
	c.Etcd.AddFlags(set)
}

// addSharingFlags adds the flags that determine how containers get and share GPUs.
func (c *Config) addSharingFlags(set *flags.Set) {
	set.StringVar(&c.Delivery, "delivery", DeliverEnv,
		"how containers get their GPUs: env (NVIDIA_VISIBLE_DEVICES, for NVIDIA's runtime) or cdi")
	set.StringVar(&c.CDIDir, "cdi-dir", "/var/run/cdi", "directory in which the runtime finds CDI specifications")
	set.StringVar(&c.DriverRoot, "driver-root", "/", "the host's root directory, in which the driver's libraries are found for CDI")
	set.StringVar(&c.Sharing, "sharing", ShareByTime, "how jobs share a GPU: timeslice, or mps (limits that the driver enforces)")
	set.StringVar(&c.MPSProgram, "mps-program", "nvidia-cuda-mps-control", "MPS control daemon")
	set.StringVar(&c.MPSThreads, "mps-threads", ThreadsByCores, "threads that a client of MPS may use without gpushare/gpu-cores: "+
		"cores (all of the GPU), or share (by the share that the policy is expected to give it when its container is created, for its whole life)")
}

// addHealthFlags adds the flags about unhealthy GPUs, and about pods that use more memory than they requested.
func (c *Config) addHealthFlags(set *flags.Set) {
	set.StringVar(&c.XIDPolicy, "xid-policy", "",
		"changes of the action for XID errors, such as 109=ignore,74=unhealthy-until-reset,other=ignore")
	set.DurationVar(&c.RecoverAfter, "recover-after", 2*time.Minute, "time without errors after which a GPU takes new jobs again")
	set.DurationVar(&c.LossAfter, "loss-after", 2*time.Minute, "time without an answer of the driver after which its GPUs take no new jobs")
	set.StringVar(&c.Proc, "proc", "/proc", "the host's /proc, which maps processes on a GPU to pods")
	set.StringVar(&c.OnExcess, "on-excess", ExcessWarn,
		"action for a job that uses more GPU memory than it requested: warn, or evict some time after the warning")
	set.StringVar(&c.ExcessSlack, "excess-slack", "1Gi",
		"GPU memory that a job may use in addition to its request: a CUDA context alone takes some hundred MiB")
}
