package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/coordinator/internal/loop"
	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/jobfile"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/podlog"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/coordinator/internal/probes"
	"github.com/trellis-gpu/trellis/coordinator/internal/publish"
	"github.com/trellis-gpu/trellis/coordinator/internal/recall"
	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/growth"
)

// Requests to the API server: one node's pods, generously.
const (
	clientQPS   = 50
	clientBurst = 100
)

type actor = func(ctx context.Context) error

// enforcer is either kind.
type enforcer interface {
	loop.Enforcer
	Run(ctx context.Context) error
}

// parts are the coordinator's, built and not yet started.
type parts struct {
	node      growth.NodeName
	log       *slog.Logger
	client    kubernetes.Interface
	reach     *probes.Reach
	loop      *loop.Loop
	informer  *pods.Informer
	sockets   *socket.Server
	enforcer  enforcer
	records   *publish.Records
	pods      *publish.Pods
	memory    *recall.File
	ports     loop.Ports
	health    probes.Server
	endEvents func()
}

func assemble(o options, log *slog.Logger) (*parts, error) {
	p := &parts{node: growth.NodeName(o.node), log: log}
	rest, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	rest.QPS, rest.Burst, rest.UserAgent = clientQPS, clientBurst, "trellis-coordinator/"+version
	if p.client, err = kubernetes.NewForConfig(rest); err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	o.etcd.Log = log
	bus, err := etcdbus.Open(o.etcd)
	if err != nil {
		return nil, err
	}
	p.reach = probes.NewReach(bus, time.Now())
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	p.loop = loop.New(o.loop(), metrics.New(registry, p.reach.Age), log)
	if p.informer, err = pods.NewInformer(p.client, p.node, p.loop); err != nil {
		return nil, err
	}
	if p.sockets, err = socket.New(o.stateDir, socket.DefaultLimits, log, p.loop.Socket); err != nil {
		return nil, err
	}
	cgroups := cgroup.New(o.cgroupRoot, "/proc")
	recorder, endEvents := publish.Recorder(p.client, p.node)
	p.endEvents = endEvents
	p.enforcer = enforce.New(p.client.CoreV1(), cgroups, log, p.loop.Resized)
	if o.enforce == byCgroup {
		p.enforcer = enforce.NewDirect(cgroups, p.loop.Resized)
	}
	p.records = publish.NewRecords(bus, p.node, o.interval, log)
	p.pods = publish.NewPods(p.client.CoreV1(), recorder, log)
	p.memory = recall.New(p.sockets.Private(), log)
	known, err := p.memory.Read()
	if err != nil {
		log.Warn("starting without what an earlier coordinator knew", "reason", err)
	}
	p.loop.Restore(known)
	p.ports = loop.Ports{
		Sockets: p.sockets, Usages: cgroups, Logs: podlog.Logs{Root: o.podLogs, Log: log},
		Files:    jobfile.Files{Proc: "/proc", Processes: cgroups, Log: log},
		Enforcer: p.enforcer, Records: p.records, Pods: p.pods, Memory: p.memory,
	}
	p.health = probes.Server{Listen: o.health, Alive: p.loop.Alive, Synced: p.informer.Synced, Age: p.reach.Age, Metrics: registry, Explain: p.loop.Explain}
	return p, nil
}

// actors run until their context ends; the first to return ends all.
func (p *parts) actors() []actor {
	return []actor{
		func(ctx context.Context) error { return p.loop.Run(ctx, p.ports) },
		func(ctx context.Context) error { p.loop.FollowAllocations(ctx, p.reach, p.node); return nil },
		func(ctx context.Context) error { p.loop.FollowJobs(ctx, p.reach, p.node); return nil },
		func(ctx context.Context) error {
			return pods.FollowCapacity(ctx, p.client, p.node, p.log, p.loop.Capacity)
		},
		p.informer.Run, p.enforcer.Run, p.records.Run, p.pods.Run, p.memory.Run, p.health.Run,
	}
}

// close ends what outlives the actors. The bus's session is left to run out by itself, so that a coordinator which is
// back within its time finds what it knew.
func (p *parts) close() {
	p.sockets.Shutdown()
	p.endEvents()
}
