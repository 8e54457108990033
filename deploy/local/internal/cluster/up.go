//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/trellis-gpu/trellis/deploy/local/internal/cgroup"
	"github.com/trellis-gpu/trellis/deploy/local/internal/network"
	"github.com/trellis-gpu/trellis/deploy/local/internal/node"
	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// Options describe the cluster to bring up.
type Options struct {
	Root        state.Root
	Name        string
	Nodes       int
	CPUsPerNode int
	NUMANodes   int    // that each node shows; 1: those of the machine
	WithPID     int    // 0: the cluster stays until `down`
	Stock       string // the folder of the stock programs
}

// Validate checks the options against this machine.
func (o Options) Validate() error {
	cores := runtime.NumCPU()
	if o.CPUsPerNode < 1 || o.CPUsPerNode > cores {
		return fmt.Errorf("%d cores per node: this machine has 1 to %d to give", o.CPUsPerNode, cores)
	}
	if o.NUMANodes < 1 || o.NUMANodes > o.CPUsPerNode {
		return fmt.Errorf("%d NUMA nodes: a node of %d core(s) shows 1 to %d", o.NUMANodes, o.CPUsPerNode, o.CPUsPerNode)
	}
	if o.Nodes < 1 || o.Nodes > network.MaxNodes {
		return fmt.Errorf("%d nodes: a local cluster has 1 to %d", o.Nodes, network.MaxNodes)
	}
	return errors.Join(network.ValidateName(o.Name), o.Root.Validate())
}

// Up brings the cluster up unless it is up already. Progress is written to out for a user. If ctx ends before the cluster is
// ready, everything is taken down again.
func Up(ctx context.Context, o Options, out io.Writer) error {
	begin := time.Now()
	lock, err := o.Root.LockCluster(ctx, o.Name, func() {
		fmt.Fprintf(out, "cluster %s is being brought up or down by another process; waiting\n", o.Name)
	})
	if err != nil {
		return err
	}
	defer lock.Release()
	done, err := o.alreadyUp(out)
	if done || err != nil {
		return err
	}
	record, err := o.prepare(ctx)
	if err != nil {
		return errors.Join(err, remove(o.Root, o.Name, lock))
	}
	fmt.Fprintf(out, "cluster %s: %d node(s) on %s, API server %s\n", o.Name, o.Nodes, record.Plan.Block, record.Plan.APIURL())
	if err := o.supervise(ctx, out); err != nil {
		return errors.Join(err, remove(o.Root, o.Name, lock))
	}
	fmt.Fprintf(out, "cluster %s is up after %s; KUBECONFIG=%s\n", o.Name, time.Since(begin).Round(time.Second),
		o.Root.Cluster(o.Name).Kubeconfig("admin"))
	return nil
}

// alreadyUp reports whether the cluster is up. An incomplete one is removed first.
func (o Options) alreadyUp(out io.Writer) (bool, error) {
	r, err := o.Root.Cluster(o.Name).Read()
	switch {
	case errors.Is(err, state.ErrNone):
		// The record is written before the first process and deleted after the last: processes without one belong to another root.
		if branch, err := cgroup.BranchOf(o.Name); err != nil || len(branch.PIDs()) > 0 {
			return false, errors.Join(err, fmt.Errorf("a cluster %s runs under another --state-root: "+
				"choose another name, or clean up by name with local down --name %s", o.Name, o.Name))
		}
		return false, CleanUp(o.Root, o.Name)
	case err != nil:
		return false, err
	case r.Phase != state.Up || !r.Supervisor.Alive():
		fmt.Fprintf(out, "cluster %s was left incomplete; cleaning up first\n", o.Name)
		stop(r.Supervisor)
		return false, CleanUp(o.Root, o.Name)
	case len(r.Plan.Nodes) != o.Nodes || r.CPUsPerNode != o.CPUsPerNode || max(1, r.NUMANodes) != o.NUMANodes:
		return false, fmt.Errorf("cluster %s is up with %d node(s) of %d core(s) and %d NUMA node(s): take it down first, or ask for the same",
			o.Name, len(r.Plan.Nodes), r.CPUsPerNode, max(1, r.NUMANodes))
	case len(r.Ended) > 0:
		return false, fmt.Errorf("cluster %s is up but incomplete (local status --name %s shows what ended): take it down first", o.Name, o.Name)
	}
	fmt.Fprintf(out, "cluster %s is up already; KUBECONFIG=%s\n", o.Name, o.Root.Cluster(o.Name).Kubeconfig("admin"))
	return true, nil
}

// prepare chooses addresses and cores and writes the record, under the lock of all clusters.
func (o Options) prepare(ctx context.Context) (state.Record, error) {
	all, err := o.Root.LockAll(ctx)
	if err != nil {
		return state.Record{}, err
	}
	defer all.Release()
	taken, err := network.Taken()
	if err != nil {
		return state.Record{}, err
	}
	names, err := o.Root.Clusters()
	if err != nil {
		return state.Record{}, err
	}
	for _, name := range names {
		if other, err := o.Root.Cluster(name).Read(); err == nil {
			taken = append(taken, other.Plan.Block)
		}
	}
	r := state.Record{Phase: state.Starting, Created: time.Now().UTC(), CPUsPerNode: o.CPUsPerNode, NUMANodes: o.NUMANodes, Stock: o.Stock,
		Cores: map[string]string{}, Processes: map[string]process.Identity{}}
	if r.Plan, err = network.NewPlan(o.Name, o.Nodes, taken); err != nil {
		return r, err
	}
	for i, n := range r.Plan.Nodes {
		r.Cores[n.Name] = node.CoresOf(i, o.CPUsPerNode, runtime.NumCPU()).String()
	}
	if o.WithPID != 0 {
		id, err := process.Of(o.WithPID)
		if err != nil {
			return r, fmt.Errorf("--with-pid %d: no such process", o.WithPID)
		}
		r.WithPID = &id
	}
	if err := o.Root.Cluster(o.Name).Write(r); err != nil {
		return r, err
	}
	return r, makeHostFolders(o.Root)
}
