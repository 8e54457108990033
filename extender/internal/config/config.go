package config

import (
	"github.com/trellis-gpu/trellis/daemon/credentials"
	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/daemon/flags"
	"github.com/trellis-gpu/trellis/extender/internal/apiserver"
	"github.com/trellis-gpu/trellis/extender/internal/mover"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// About is the first paragraph of --help.
const About = `extender answers kube-scheduler which nodes have room for a pod's share of a GPU and how good each node is, and binds pods
to the GPUs that it reserves for them.`

// Config is the configuration of the extender.
type Config struct {
	// Listen is the address that kube-scheduler calls.
	Listen string
	// HealthListen is the address of the probes and the metrics.
	HealthListen string
	// PprofListen is the address of the pprof profiles. Empty disables them.
	PprofListen string
	// TLS are the files for HTTPS with client certificates on Listen. Without TLS, Listen must be a loopback address.
	TLS credentials.Files
	// Policy names the placement policy.
	Policy string
	// Resource is the extended resource that pods request.
	Resource string
	// Recreate makes the extender recreate bare pods that kubelet rejected.
	Recreate bool
	// Gangs makes the extender place the pods of one job all or none.
	Gangs bool
	// Moves is which jobs the extender moves to other nodes.
	Moves mover.Mode
	// SharedPaths are the folders of nodes that are the same on all nodes.
	SharedPaths []string
	// Workers makes the extender change the number of workers of elastic jobs.
	Workers bool
	Kube    apiserver.Config
	Etcd    etcdbus.Config
}

// AddFlags implements daemon.Config.
func (c *Config) AddFlags(set *flags.Set) {
	set.StringVar(&c.Listen, "listen", "127.0.0.1:12346",
		"address on which kube-scheduler asks: plain HTTP on a loopback address, HTTPS with client certificates elsewhere")
	set.StringVar(&c.TLS.Cert, "tls-cert", "", "certificate of the server, with its chain; read again when it changes")
	set.StringVar(&c.TLS.Key, "tls-key", "", "key of that certificate")
	set.StringVar(&c.TLS.ClientCA, "client-ca", "", "CAs that sign the certificates of clients")
	set.StringVar(&c.HealthListen, "health-listen", ":9440", "address of /livez, /readyz and /metrics")
	set.StringVar(&c.PprofListen, "pprof-listen", "", "loopback address of /debug/pprof/; empty for none")
	set.StringVar(&c.Policy, "policy", "growth",
		"which place is best: growth (most growth of all jobs together), specon (lowest weighted count of jobs), "+
			"iadeep (least interference, as measured), iadeep-literal (least interference, by IADeep's published mean), "+
			"binpack (fullest GPU), spread (emptiest GPU)")
	set.StringVar(&c.Resource, "resource", gpushare.Resource, "extended resource by which pods request GPU memory")
	set.BoolVar(&c.Recreate, "recreate", false,
		"recreate bare pods that kubelet rejected and that never ran: because it or its device plugin was restarting, or for "+
			"want of CPU, memory, units or aligned resources; needs the right to create and delete pods (deploy/components/recreate)")
	set.Renamed("recreate", "resubmit")
	set.BoolVar(&c.Gangs, "gangs", false,
		"place the pods of a distributed job all or none (Indexed Jobs, JobSets, PyTorchJobs and the annotation "+gpushare.GangAnnotation+
			"); needs the right to read Jobs and to annotate pods (deploy/components/gangs)")
	c.Moves = mover.Off
	set.VarPF(&c.Moves, "moves", "",
		"which jobs move to other nodes (save, evict, place, continue): off, requested (pods with the annotation "+gpushare.MoveAnnotation+
			"), dry-run (also say which jobs would move without a request), automatic (also move them); all but off need the right to "+
			"annotate, evict, create and delete pods (deploy/components/moves)").NoOptDefVal = string(mover.Requested)
	set.StringSliceVar(&c.SharedPaths, "shared-host-paths", nil,
		"folders of nodes that are the same on all nodes, such as a mounted network file system: jobs with checkpoints in "+
			"other folders of their nodes do not move")
	set.BoolVar(&c.Workers, "workers", false,
		"give jobs with the annotation "+gpushare.ElasticAnnotation+" and workers in "+gpushare.TuneAnnotation+" the number of workers that "+
			"the tuner recommends: save, then scale their owner; needs the right to annotate pods and to scale (deploy/components/workers)")
	set.StringVar(&c.Kube.Kubeconfig, "kubeconfig", "", "kubeconfig file of the API server; empty inside a cluster")
	set.Float32Var(&c.Kube.QPS, "kube-qps", 200, "calls per second to the API server")
	set.IntVar(&c.Kube.Burst, "kube-burst", 400, "burst of calls to the API server")
	c.Etcd.AddFlags(set)
}
