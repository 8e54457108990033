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

// Wish is the cluster that somebody wants.
type Wish struct {
	Root        state.Root
	Name        string
	Nodes       int
	CPUsPerNode int
	WithPID     int    // 0: the cluster stays until `down`
	Stock       string // the folder of the stock programs
}

// Validate says whether the wish can be fulfilled on this machine.
func (w Wish) Validate() error {
	cores := runtime.NumCPU()
	if w.CPUsPerNode < 1 || w.CPUsPerNode > cores {
		return fmt.Errorf("%d cores per node: this machine has 1 to %d to give", w.CPUsPerNode, cores)
	}
	if w.Nodes < 1 || w.Nodes > network.MaxNodes {
		return fmt.Errorf("%d nodes: a local cluster has 1 to %d", w.Nodes, network.MaxNodes)
	}
	return errors.Join(network.ValidateName(w.Name), w.Root.Validate())
}

// Up brings the cluster up, or finds it up already. Progress is written to out for a person. When ctx ends before the
// cluster is ready, what was made is taken down again.
func Up(ctx context.Context, w Wish, out io.Writer) error {
	begin := time.Now()
	lock, err := w.Root.LockCluster(ctx, w.Name, func() {
		fmt.Fprintf(out, "cluster %s is being brought up or down by another process; waiting\n", w.Name)
	})
	if err != nil {
		return err
	}
	defer lock.Release()
	done, err := w.alreadyUp(out)
	if done || err != nil {
		return err
	}
	record, err := w.prepare(ctx)
	if err != nil {
		return errors.Join(err, takeAway(w.Root, w.Name, lock))
	}
	fmt.Fprintf(out, "cluster %s: %d node(s) on %s, API server %s\n", w.Name, w.Nodes, record.Plan.Block, record.Plan.APIURL())
	if err := w.supervise(ctx, out); err != nil {
		return errors.Join(err, takeAway(w.Root, w.Name, lock))
	}
	fmt.Fprintf(out, "cluster %s is up after %s; KUBECONFIG=%s\n", w.Name, time.Since(begin).Round(time.Second),
		w.Root.Cluster(w.Name).Kubeconfig("admin"))
	return nil
}

// alreadyUp looks for a cluster of that name. One that is not whole is taken away first.
func (w Wish) alreadyUp(out io.Writer) (bool, error) {
	r, err := w.Root.Cluster(w.Name).Read()
	switch {
	case errors.Is(err, state.ErrNone):
		// The record is written before and deleted after all that runs: what runs without one is another root's.
		if branch, err := cgroup.BranchOf(w.Name); err != nil || len(branch.PIDs()) > 0 {
			return false, errors.Join(err, fmt.Errorf("a cluster %s runs under another --state-root: "+
				"choose another name, or clean up by name with local down --name %s", w.Name, w.Name))
		}
		return false, Sweep(w.Root, w.Name)
	case err != nil:
		return false, err
	case r.Phase != state.Up || !r.Supervisor.Alive():
		fmt.Fprintf(out, "cluster %s was left half way; cleaning up first\n", w.Name)
		stop(r.Supervisor)
		return false, Sweep(w.Root, w.Name)
	case len(r.Plan.Nodes) != w.Nodes || r.CPUsPerNode != w.CPUsPerNode:
		return false, fmt.Errorf("cluster %s is up with %d node(s) of %d core(s): take it down first, or ask for the same",
			w.Name, len(r.Plan.Nodes), r.CPUsPerNode)
	case len(r.Ended) > 0:
		return false, fmt.Errorf("cluster %s is up but not whole (local status --name %s says what ended): take it down first", w.Name, w.Name)
	}
	fmt.Fprintf(out, "cluster %s is up already; KUBECONFIG=%s\n", w.Name, w.Root.Cluster(w.Name).Kubeconfig("admin"))
	return true, nil
}

// prepare chooses addresses and cores and writes the record. Nobody else chooses meanwhile.
func (w Wish) prepare(ctx context.Context) (state.Record, error) {
	all, err := w.Root.LockAll(ctx)
	if err != nil {
		return state.Record{}, err
	}
	defer all.Release()
	taken, err := network.Taken()
	if err != nil {
		return state.Record{}, err
	}
	names, err := w.Root.Clusters()
	if err != nil {
		return state.Record{}, err
	}
	for _, name := range names {
		if other, err := w.Root.Cluster(name).Read(); err == nil {
			taken = append(taken, other.Plan.Block)
		}
	}
	r := state.Record{Phase: state.Starting, Created: time.Now().UTC(), CPUsPerNode: w.CPUsPerNode, Stock: w.Stock,
		Cores: map[string]string{}, Processes: map[string]process.Identity{}}
	if r.Plan, err = network.NewPlan(w.Name, w.Nodes, taken); err != nil {
		return r, err
	}
	for i, n := range r.Plan.Nodes {
		r.Cores[n.Name] = node.CoresOf(i, w.CPUsPerNode, runtime.NumCPU()).String()
	}
	if w.WithPID != 0 {
		id, err := process.Of(w.WithPID)
		if err != nil {
			return r, fmt.Errorf("--with-pid %d: no such process", w.WithPID)
		}
		r.WithPID = &id
	}
	if err := w.Root.Cluster(w.Name).Write(r); err != nil {
		return r, err
	}
	return r, makeHostFolders(w.Root)
}
