//go:build linux

package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/deploy/local/internal/cgroup"
	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
	"github.com/trellis-gpu/trellis/deploy/local/internal/node"
	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// Timeouts of the steps. On an idle machine an API server takes 5 s and a node 10 s; a machine that compiles at the same time
// is many times slower.
const (
	apiLimit  = 3 * time.Minute
	nodeLimit = 5 * time.Minute
)

// bringUp creates the cluster and returns when it accepts pods.
func (s *Supervisor) bringUp(ctx context.Context) error {
	ctx, cancel := whileUpLives(ctx, s.progress)
	defer cancel()
	if err := s.joinCgroup(); err != nil {
		return err
	}
	if err := s.writeFiles(); err != nil {
		return err
	}
	if err := s.startAll(ctx); err != nil {
		return err
	}
	s.record.Phase = state.Up
	return s.folder.Write(s.record)
}

// joinCgroup moves this process into the cluster's cgroups and creates the bridge.
func (s *Supervisor) joinCgroup() (err error) {
	if s.branch, err = cgroup.BranchOf(s.record.Plan.Cluster); err != nil {
		return err
	}
	if s.record.Supervisor, err = process.Self(); err != nil {
		return err
	}
	if err := s.folder.Write(s.record); err != nil {
		return err
	}
	if err := s.branch.Create(systemGroup, ""); err != nil {
		return err
	}
	if err := s.branch.Join(systemGroup); err != nil {
		return err
	}
	for _, n := range s.record.Plan.Nodes {
		if err := s.branch.Create(n.Name, s.record.Cores[n.Name]); err != nil {
			return err
		}
	}
	if err := s.record.Plan.CreateBridge(); err != nil {
		return err
	}
	return s.record.Plan.OpenFirewall()
}

func (s *Supervisor) writeFiles() error {
	if err := s.layout.WriteCertificates(time.Now()); err != nil {
		return fmt.Errorf("issue certificates: %w", err)
	}
	pause := map[string]string{"/pause": s.record.Stock + "/pause"}
	if err := image.Write(s.folder.PauseImage(), node.PauseImage, pause, []string{"/pause"}); err != nil {
		return fmt.Errorf("write the pause image: %w", err)
	}
	return nil
}

// startAll starts etcd, the API server and the nodes, and then the programs that exit without an API server.
func (s *Supervisor) startAll(ctx context.Context) error {
	for _, p := range []process.Program{s.layout.Etcd(), s.layout.APIServer()} {
		if err := s.start(p); err != nil {
			return err
		}
	}
	s.say("etcd and kube-apiserver started")
	for _, n := range s.record.Plan.Nodes {
		if err := s.startNode(n); err != nil {
			return err
		}
		s.say("%s started: address %s, pods %s, core(s) %s", n.Name, n.Addr, n.Pods, s.record.Cores[n.Name])
	}
	client, err := s.layout.NewClient()
	if err != nil {
		return err
	}
	if err := s.await(ctx, "kube-apiserver", apiLimit, client.Serving); err != nil {
		return err
	}
	s.say("API server serves %s", s.record.Plan.APIURL())
	for _, p := range []process.Program{s.layout.ControllerManager(), s.layout.Scheduler()} {
		if err := s.start(p); err != nil {
			return err
		}
	}
	s.say("kube-controller-manager and kube-scheduler started")
	if err := s.await(ctx, "the nodes", nodeLimit, s.nodesReady(client)); err != nil {
		return err
	}
	return s.await(ctx, "kube-controller-manager", apiLimit, client.DefaultAccount)
}

func (s *Supervisor) start(p process.Program) error {
	id, err := s.starter.Start(p)
	if err != nil {
		return err
	}
	s.record.Processes[p.Name] = id
	return s.folder.Write(s.record)
}
