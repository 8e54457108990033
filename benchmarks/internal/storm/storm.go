package storm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/policy"
)

const (
	// readyWithin bounds the time until an installation is ready for pods, imageWithin until kubelet lists an image.
	readyWithin, imageWithin = 3 * time.Minute, time.Minute
	// lookEvery is the poll interval of kubelet's checkpoints. Every container lives longer.
	lookEvery = 200 * time.Millisecond
)

// Storm runs rounds on a local cluster.
type Storm struct {
	Local *cluster.Local
	// Rounds is the number of rounds, Pods the pods of each. Seed determines them.
	Rounds, Pods int
	Seed         uint64
	// Keep leaves the cluster up.
	Keep bool
	// Notices receives progress messages.
	Notices io.Writer
	Summary *results.Summary

	connection *cluster.Connection
	namespace  string
	image      string
	nodes      []*node
	inits      map[string]int // the init process of each node
	log        allocationLog
	// files is a folder on this machine. Its subfolder gate is mounted into the pods.
	files string
	// failed is the time at which each failed pod was first seen.
	failed map[types.UID]time.Time
	// extender is the address of the extender's metrics; empty until it is known.
	extender string

	mu      sync.Mutex
	kubelet map[growth.PodUID][]Given // every state of the checkpoints, deleted pods included
	present map[string]map[growth.PodUID][]string
}

// Run runs the rounds and returns the complete ones, also with an error. It leaves the cluster as it was.
func (s *Storm) Run(ctx context.Context) (rounds []Round, err error) {
	after := context.WithoutCancel(ctx)
	began := time.Now()
	borrowed, err := s.Local.Borrow(ctx, s.Keep, s.notice)
	defer func() { err = errors.Join(err, borrowed.GiveBack(after)) }()
	if err != nil {
		return nil, err
	}
	if err := s.install(ctx, borrowed.Kubeconfig); err != nil {
		return nil, err
	}
	s.Summary.Took("up and installed", time.Since(began))
	if s.files, err = os.MkdirTemp("", "storm"); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(s.files) }()
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.clear(after)) }()

	ctx, cancel := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer cancel()
	allocations, err := s.connection.Bus(ctx, s.files)
	if err != nil {
		return nil, err
	}
	defer func() { _ = allocations.Close() }()
	watchers.Go(func() { s.log.follow(ctx, allocations) })
	watchers.Go(func() { s.watchCheckpoints(ctx) })

	for i := range s.Rounds {
		round, err := s.round(ctx, i)
		if err != nil {
			return rounds, fmt.Errorf("round %d: %w", i+1, err)
		}
		rounds = append(rounds, round)
		s.notice("%s", round)
	}
	return rounds, nil
}

// install installs Trellis on the cluster and connects to it.
func (s *Storm) install(ctx context.Context, kubeconfig string) (err error) {
	s.notice("installing Trellis")
	if err := s.Local.Install(ctx, string(policy.Default), policy.DefaultInterval); err != nil {
		return err
	}
	if s.connection, err = cluster.Connect(kubeconfig); err != nil {
		return err
	}
	s.Summary.Settings, err = s.connection.Settings(ctx)
	return err
}

// prepare locates the nodes, and creates the namespace and the gate.
func (s *Storm) prepare(ctx context.Context) error {
	status, err := s.Local.Status(ctx)
	if err != nil {
		return err
	}
	s.inits, s.kubelet, s.present = map[string]int{}, map[growth.PodUID][]Given{}, map[string]map[growth.PodUID][]string{}
	s.failed = map[types.UID]time.Time{}
	for _, n := range status.Nodes {
		s.nodes = append(s.nodes, &node{name: n.Name, folder: filepath.Join(status.Folder, "nodes", n.Name)})
		s.inits[n.Name] = n.PID
	}
	if s.image, err = s.connection.MachineImage(ctx, imageWithin); err != nil {
		return err
	}
	if err := os.Mkdir(s.gate(), 0o755); err != nil {
		return err
	}
	if err := os.Chmod(s.files, 0o755); err != nil { // only its owner may read a temporary folder
		return err
	}
	s.namespace = "storm-" + time.Now().UTC().Format("150405")
	room := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if _, err := s.connection.Kubernetes.CoreV1().Namespaces().Create(ctx, room, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating a namespace: %w", err)
	}
	ready, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	want := cluster.Expectation{Nodes: s.Local.Nodes, Policy: string(policy.Default), Probe: s.pod(Pod{Name: "probe", Units: 1})}
	return s.connection.AwaitReady(ready, want, func(text string) { s.notice("%s", text) })
}

func (s *Storm) clear(ctx context.Context) error {
	now := int64(0)
	return s.connection.Kubernetes.CoreV1().Namespaces().Delete(ctx, s.namespace, metav1.DeleteOptions{GracePeriodSeconds: &now})
}

// watchCheckpoints records the devices of each pod from kubelet's checkpoints, until ctx ends.
func (s *Storm) watchCheckpoints(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		for _, n := range s.nodes {
			held, err := n.checkpoint()
			if err != nil {
				s.notice("%s: %v", n.name, err)
			}
			if held == nil {
				continue
			}
			s.mu.Lock()
			now := uptime()
			s.present[n.name] = held
			for uid, ids := range held {
				s.kubelet[uid] = noted(s.kubelet[uid], ShareOf(ids), now)
			}
			s.mu.Unlock()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// noted appends a share that differs from the last one.
func noted(before []Given, share Share, now time.Duration) []Given {
	if len(before) > 0 && maps.Equal(before[len(before)-1].Share, share) {
		return before
	}
	return append(before, Given{Share: share, At: now})
}

// uptime reads the clock that the containers also read.
func uptime() time.Duration {
	var seconds float64
	text, _ := os.ReadFile("/proc/uptime")
	_, _ = fmt.Sscan(string(text), &seconds)
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}

func (s *Storm) gate() string { return filepath.Join(s.files, "gate") }

func (s *Storm) notice(format string, values ...any) {
	fmt.Fprintf(s.Notices, "==> %s %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, values...))
}
