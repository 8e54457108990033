//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/trellis-gpu/trellis/deploy/local/internal/controlplane"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// Status is the state of a cluster.
type Status struct {
	Name       string            `json:"name"`
	State      string            `json:"state"` // absent, starting, up, degraded, stopping, crashed
	APIServer  string            `json:"apiServer,omitempty"`
	Kubeconfig string            `json:"kubeconfig,omitempty"`
	Folder     string            `json:"folder,omitempty"`
	Logs       string            `json:"logs,omitempty"`
	Supervisor int               `json:"supervisor,omitempty"`
	Nodes      []NodeStatus      `json:"nodes,omitempty"`
	Ended      map[string]string `json:"ended,omitempty"` // programs that ended unexpectedly
}

// NodeStatus is the state of a node.
type NodeStatus struct {
	Name  string `json:"name"`
	Addr  string `json:"addr"`
	Pods  string `json:"pods"`
	Cores string `json:"cores"`
	PID   int    `json:"pid"` // of its init: nsenter -t PID -a looks inside
	Ready bool   `json:"ready"`
	Why   string `json:"why,omitempty"` // not ready
}

// GetStatus returns the state of a cluster.
func GetStatus(ctx context.Context, root state.Root, name string) (Status, error) {
	folder := root.Cluster(name)
	r, err := folder.Read()
	if errors.Is(err, state.ErrNone) {
		return Status{Name: name, State: "absent"}, nil
	}
	if err != nil {
		return Status{}, err
	}
	s := Status{Name: name, State: string(r.Phase), APIServer: r.Plan.APIURL(), Kubeconfig: folder.Kubeconfig("admin"),
		Folder: string(folder), Logs: folder.Logs(), Supervisor: r.Supervisor.PID, Ended: r.Ended}
	reason := "the API server does not answer"
	if !r.Supervisor.Alive() {
		s.State, reason = "crashed", "the supervisor is gone"
	}
	pending := map[string]string{}
	for _, n := range r.Plan.Nodes {
		s.Nodes = append(s.Nodes, NodeStatus{Name: n.Name, Addr: n.Addr.String(), Pods: n.Pods.String(),
			Cores: r.Cores[n.Name], PID: r.Processes[n.Name].PID})
		pending[n.Name] = reason
	}
	layout := controlplane.Layout{Plan: r.Plan, Folder: folder, Stock: r.Stock}
	if client, err := layout.NewClient(); err == nil && s.State != "crashed" {
		if answer, err := client.Pending(ctx, slices.Collect(maps.Keys(pending))); err == nil {
			pending = answer
		}
	}
	for i := range s.Nodes {
		s.Nodes[i].Why = pending[s.Nodes[i].Name]
		if s.Nodes[i].Why == "" && !r.Processes[s.Nodes[i].Name].Alive() {
			s.Nodes[i].Why = "its init has ended" // the API server notices after 40 s
		}
		s.Nodes[i].Ready = s.Nodes[i].Why == ""
	}
	if s.State == string(state.Up) && (len(pending) > 0 || len(r.Ended) > 0) {
		s.State = "degraded"
	}
	return s, nil
}

// Print writes the status for a user.
func (s Status) Print(out io.Writer) error {
	fmt.Fprintf(out, "cluster %s: %s\n", s.Name, s.State)
	if s.State == "absent" {
		return nil
	}
	fmt.Fprintf(out, "API server  %s\nKUBECONFIG  %s\nlogs        %s\n", s.APIServer, s.Kubeconfig, s.Logs)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tADDRESS\tPODS\tCORES\tPID\tREADY")
	for _, n := range s.Nodes {
		ready := "yes"
		if !n.Ready {
			ready = "no: " + n.Why
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\n", n.Name, n.Addr, n.Pods, n.Cores, n.PID, ready)
	}
	for _, program := range slices.Sorted(maps.Keys(s.Ended)) {
		fmt.Fprintf(table, "ended: %s\n", s.Ended[program])
	}
	return table.Flush()
}
