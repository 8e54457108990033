package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/trellis-gpu/trellis/coordinator/internal/config"
	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
	"github.com/trellis-gpu/trellis/coordinator/internal/freeze"
	"github.com/trellis-gpu/trellis/coordinator/internal/loop"
	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/coordinator/internal/newcomers"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/gpubusy"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/jobfile"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/podlog"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/coordinator/internal/probes"
	"github.com/trellis-gpu/trellis/coordinator/internal/publish"
	"github.com/trellis-gpu/trellis/coordinator/internal/recall"
	"github.com/trellis-gpu/trellis/coordinator/internal/signalsave"
	"github.com/trellis-gpu/trellis/coordinator/internal/turns"
	"github.com/trellis-gpu/trellis/daemon"
	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	daemonprobes "github.com/trellis-gpu/trellis/daemon/probes"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// Rate limits of the client of the API server, generous for the pods of one node.
const (
	clientQPS   = 50
	clientBurst = 100
)

// run builds the parts and runs them until ctx ends.
func run(ctx context.Context, c *config.Config, log *slog.Logger) error {
	p, err := assemble(c, log)
	if err != nil {
		return err
	}
	defer p.close()
	log.Info("starting", "version", version, "node", c.Node, "policy", c.Policy, "interval", c.Interval.String())
	return p.group.Run(ctx)
}

// enforcer applies resizes by pod resize or by cgroup weights.
type enforcer interface {
	loop.Enforcer
	Run(ctx context.Context) error
}

// parts are the parts of the coordinator.
type parts struct {
	node      growth.NodeName
	log       *slog.Logger
	client    kubernetes.Interface
	bus       *probes.Connection
	loop      *loop.Loop
	informer  *pods.Informer
	sockets   *socket.Server
	turns     *turns.Server
	freezer   *freeze.Freezer
	enforcer  enforcer
	records   *publish.Records
	pods      *publish.Pods
	memory    *recall.File
	ports     loop.Ports
	group     *daemon.Group
	endEvents func()
}

// assemble builds the parts in the order of their dependencies. They stop in the order in which they join the group.
func assemble(c *config.Config, log *slog.Logger) (*parts, error) {
	p := &parts{node: growth.NodeName(c.Node), log: log}
	rest, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	rest.QPS = clientQPS
	rest.Burst = clientBurst
	rest.UserAgent = "trellis-coordinator/" + version
	if p.client, err = kubernetes.NewForConfig(rest); err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	c.Etcd.Log = log
	bus, err := etcdbus.Open(c.Etcd)
	if err != nil {
		return nil, err
	}
	p.bus = probes.NewConnection(bus, time.Now())
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	p.loop = loop.New(c.Decisions(), metrics.New(registry, p.bus.Unavailable), log)
	if p.informer, err = pods.NewInformer(p.client, p.node, corev1.ResourceName(c.Resource), p.loop); err != nil {
		return nil, err
	}
	if p.sockets, err = socket.New(c.StateDir, socket.DefaultLimits, log, p.loop.Socket); err != nil {
		return nil, err
	}
	p.turns = turns.New(c.StateDir, p.sockets.Private(), turn.Default, log, turns.NewMetrics(registry))
	cgroups := cgroup.New(c.CgroupRoot, "/proc")
	p.freezer = freeze.New(c.CgroupRoot, p.sockets.Private(), cgroups, log)
	p.thaw()
	if c.Freeze {
		p.turns.FreezeBy(p.freezer)
	}
	recorder, endEvents := publish.Recorder(p.client, p.node)
	p.endEvents = endEvents
	worker := enforce.New(p.client.CoreV1(), cgroups, log, p.loop.Resized)
	p.enforcer = worker
	if c.Enforce == config.EnforceByCgroup {
		p.enforcer = enforce.NewDirect(cgroups, p.loop.Resized)
	}
	p.records = publish.NewRecords(bus, p.node, c.Interval, log)
	p.pods = publish.NewPods(p.client.CoreV1(), recorder, log)
	p.memory = recall.New(p.sockets.Private(), log)
	known, err := p.memory.Read()
	if err != nil {
		log.Warn("starting without the state of an earlier run", "err", err)
	}
	p.loop.Restore(known)
	p.ports = loop.Ports{
		Sockets:     p.sockets,
		Usages:      cgroups,
		Logs:        podlog.Logs{Root: c.PodLogs, Log: log},
		Files:       jobfile.Files{Proc: "/proc", Processes: cgroups, Log: log},
		Enforcer:    p.enforcer,
		Checkpoints: signalsave.Saver{Proc: "/proc", Processes: cgroups},
		Records:     p.records,
		Pods:        p.pods,
		Memory:      p.memory,
		// A Direct asks for no changes of memory requests: see node.Config.DirectWeights.
		MemoryRequests: enforce.Memory{Worker: worker, Result: p.loop.MemoryResized},
		Models:         p.bus,
		Busy:           gpubusy.New(c.StateDir, log),
		Newcomers:      newcomers.New(c.StateDir, gpubusy.Uptime, log),
	}
	if c.Freeze {
		p.ports.Freezer = p.freezer
	}
	if c.Decisions().GPUTime != policy.GPUTimeOff {
		p.ports.Turns = p.turns
	}
	return p, p.join(c, registry)
}

// join adds the parts to the group that runs them. The loop stops before the parts that execute its effects.
func (p *parts) join(c *config.Config, registry *prometheus.Registry) (err error) {
	p.group, err = daemon.NewGroup(&daemonprobes.Probes{
		Alive:   p.loop.Alive,
		Ready:   probes.Ready(p.informer.Synced, p.bus.Unavailable),
		Metrics: registry,
		Pages:   map[string]http.Handler{"GET " + explain.Path: explain.Handler(p.loop.Explain)},
	}, c.HealthListen)
	if err != nil {
		return err
	}
	p.group.Add(
		func(ctx context.Context) error { return p.loop.Run(ctx, p.ports) },
		p.turns.Run,
		func(ctx context.Context) error {
			p.loop.FollowAllocations(ctx, p.bus, p.node)
			return nil
		},
		func(ctx context.Context) error {
			p.loop.FollowInventory(ctx, p.bus, p.node)
			return nil
		},
		func(ctx context.Context) error {
			p.loop.FollowGangs(ctx, p.bus, p.node)
			return nil
		},
		func(ctx context.Context) error {
			p.loop.FollowJobs(ctx, p.bus, p.node)
			return nil
		},
		func(ctx context.Context) error {
			return pods.FollowCapacity(ctx, p.client, p.node, p.log, p.loop.Capacity)
		},
		p.informer.Run, p.enforcer.Run, p.records.Run, p.pods.Run, p.memory.Run,
	)
	if c.Decisions().GPUTime != policy.GPUTimeOff {
		p.group.Add(func(ctx context.Context) error {
			p.loop.FollowModel(ctx, p.bus)
			return nil
		})
	}
	return nil
}

// thaw thaws what this or an earlier coordinator has frozen, also if this one freezes nothing.
func (p *parts) thaw() {
	if thawed, err := p.freezer.ThawAll(); thawed > 0 || err != nil {
		p.log.Warn("thawed the containers of jobs that were frozen", "containers", thawed, "err", err)
	}
}

// close releases what the group does not stop. The session with the bus is left to expire, so that a coordinator that
// restarts within the TTL finds its records.
func (p *parts) close() {
	p.turns.Shutdown()
	p.thaw()
	p.sockets.Shutdown()
	p.endEvents()
}
