package config

import (
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/daemon/flags"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// About is the first paragraph of --help.
const About = `coordinator watches the training jobs of one node: it reads their progress, works out how much each still grows, divides
the node's CPU accordingly by resizing the pods' CPU requests in place, hands the tuner's advice to the jobs, and
publishes what it sees. It runs as a DaemonSet on nodes labelled gpushare=true.`

// Values of --enforce.
const (
	EnforceByResize = "resize"
	EnforceByCgroup = "cgroup"
)

// Config is the configuration of the coordinator.
type Config struct {
	// Node is the name of the node to watch.
	Node string
	// Resource is the extended resource of GPU memory. A pod that requests it by its containers' limits is a job, also
	// without annotations.
	Resource string
	// Policy divides the CPU.
	Policy policy.Name
	// Objective selects the jobs that the policy harmless prefers with the CPU that no job needs to keep up.
	Objective string
	// Converged is what a converged job of unknown size can claim under the policy harmless.
	Converged policy.Converged
	// GPUTime decides whether the time of GPUs is divided by turns: a value of policy.GPUTime, or a boolean.
	GPUTime string
	// Freeze lets jobs without the shim take turns too: their processes are frozen between them.
	Freeze bool
	// Enforce is the way in which CPU shares are applied: EnforceByResize or EnforceByCgroup.
	Enforce string
	// Interval is the time between two decisions when no event causes an earlier one.
	Interval time.Duration
	// Alpha is the growth, relative to a job's own peak, below which growth is low.
	Alpha float64
	// Beta bounds the shares of FlowCon from below: no job of n has less than 1/(Beta·n) of the CPU.
	Beta float64
	// StateDir is the folder shared with the device plugin.
	StateDir string
	// PodLogs is the folder of kubelet's container logs.
	PodLogs string
	// CgroupRoot is the folder of the node's cgroups.
	CgroupRoot string
	// HealthListen is the address of the probes and metrics.
	HealthListen string
	// Kubeconfig is the kubeconfig file; empty inside a cluster.
	Kubeconfig string
	Etcd       etcdbus.Config

	// Explain is the namespace/name of a pod to explain. The process then queries the coordinator of this node, and
	// exits.
	Explain string
	// Output is the format of the explanation.
	Output explain.Format
}

// AddFlags implements daemon.Config.
func (c *Config) AddFlags(set *flags.Set) {
	set.StringVar(&c.Node, "node-name", "", "the node to watch")
	set.Env("node-name", "NODE_NAME")
	set.StringVar(&c.Resource, "resource", gpushare.Resource, "extended resource by which pods request GPU memory")
	set.StringVar((*string)(&c.Policy), "policy", string(policy.Default), "how the CPU of a node is divided among its jobs: harmless, flowcon, flowcon-literal, qore-dl or fair")
	set.StringVar(&c.Objective, "objective", "balanced",
		"which jobs harmless prefers with the CPU that no job needs to keep up with fair sharing: finish (those that end "+
			"soonest), growth (those that reach their target soonest), balanced, or a number from 0 (finish) to 1 (growth)")
	set.StringVar((*string)(&c.Converged), "converged", string(policy.ConvergedFair),
		"what harmless gives a converged job of unknown size: fair is its fair share, so it ends no later than under fair "+
			"sharing; floor is the least that the policy gives, and what no other job can use, so it ends later")
	set.StringVar(&c.GPUTime, "gpu-time", string(policy.GPUTimeAuto),
		"whether the jobs of a GPU take turns, which the policy divides; a job waits for its turn between two steps. auto is on for "+
			"real GPUs, and for emulated ones that compute (--gpus=emulated:…,compute of the device plugin); or on, off")
	set.Lookup("gpu-time").NoOptDefVal = string(policy.GPUTimeOn) // it was a boolean
	set.BoolVar(&c.Freeze, "freeze", false,
		"let jobs without the shim take turns too, if they have one process on one GPU: their container is frozen between its "+
			"turns (cgroup v2; --cgroup-root must be writable)")
	set.StringVar(&c.Enforce, "enforce", EnforceByResize,
		"how CPU shares are applied: resize changes the CPU requests of pods in place, cgroup writes CPU weights (for "+
			"Kubernetes before 1.33; --cgroup-root must be writable)")
	set.DurationVar(&c.Interval, "interval", policy.DefaultInterval, "time between two decisions if no event causes an earlier one")
	set.Float64Var(&c.Alpha, "alpha", policy.DefaultAlpha, "growth below this fraction of a job's own peak is low")
	set.Float64Var(&c.Beta, "beta", policy.DefaultBeta, "lower bound of FlowCon's shares: each of n jobs has at least 1/(beta·n) of the CPU; 1 to 4")
	set.StringVar(&c.StateDir, "state-dir", gpushare.StateDir, "folder with the slots of jobs, shared with the device plugin")
	set.StringVar(&c.PodLogs, "pod-logs", "/var/log/pods", "folder of kubelet's container logs")
	set.StringVar(&c.CgroupRoot, "cgroup-root", "/sys/fs/cgroup", "folder of the node's cgroups, version 1 or 2")
	set.StringVar(&c.HealthListen, "health-listen", ":9442", "address of /livez, /readyz and /metrics")
	set.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig file of the API server; empty inside a cluster")
	c.Etcd.AddFlags(set)
	set.StringVar(&c.Explain, "explain", "",
		"print why a pod of this node, namespace/name, has the share it has, and exit; asks the coordinator that runs here")
	set.StringVarP((*string)(&c.Output), "output", "o", string(explain.Table), "how --explain prints: table or json")
	set.CommandLineOnly("explain", "output")
}
