//go:build linux

package cluster

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/trellis-gpu/trellis/deploy/local/internal/network"
	"github.com/trellis-gpu/trellis/deploy/local/internal/node"
	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
)

// startNode starts a node's init, which waits until its network is connected.
func (s *Supervisor) startNode(n network.Node) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	waitConnected, connected, err := os.Pipe()
	if err != nil {
		return err
	}
	defer connected.Close() // the node continues
	defer waitConnected.Close()
	reports, report, err := os.Pipe()
	if err != nil {
		return err
	}
	defer report.Close()
	err = s.start(process.Program{
		Name: n.Name, Path: self, Log: s.folder.Log(n.Name), Namespaces: node.Namespaces,
		Args:  []string{"node", "--name=" + s.record.Plan.Cluster, "--state-root=" + string(s.root), "--node=" + n.Name},
		Files: []*os.File{waitConnected, report},
	})
	if err != nil {
		reports.Close()
		return err
	}
	go s.readReports(n.Name, reports)
	return s.record.Plan.Connect(n, s.record.Processes[n.Name].PID)
}

// nodesReady returns a check that reports each node once it is ready.
func (s *Supervisor) nodesReady(client nodeLister) func(context.Context) error {
	names := make([]string, len(s.record.Plan.Nodes))
	for i, n := range s.record.Plan.Nodes {
		names[i] = n.Name
	}
	ready := map[string]bool{}
	return func(ctx context.Context) error {
		pending, err := client.Pending(ctx, names)
		if err != nil {
			return err
		}
		var waiting []string
		for _, name := range names {
			if reason, ok := pending[name]; ok {
				waiting = append(waiting, name+": "+reason)
			} else if !ready[name] {
				ready[name] = true
				s.say("%s is Ready", name)
			}
		}
		if len(waiting) > 0 {
			return errors.New(strings.Join(waiting, "; "))
		}
		return nil
	}
}

type nodeLister interface {
	Pending(ctx context.Context, wanted []string) (map[string]string, error)
}
