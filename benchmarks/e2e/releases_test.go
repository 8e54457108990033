//go:build e2e && linux

package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth/policy"
)

// releasesFile has jobs on one GPU: two that start with the shim of a previous release, and one with the present shim.
const releasesFile = `name,kind,arrival_seconds,steps,batch_size,gpu_mem,cpu,metric,progress,seed,device
old,gru,0,6000,64,8Gi,150m,loss:min,socket,41,emulated
previous,lstm,0,4500,64,8Gi,150m,loss:min,socket,42,emulated
present,rnn,0,3000,64,8Gi,150m,loss:min,socket,43,emulated
`

// TestTurnsAcrossReleases updates Trellis under jobs that take turns, and goes back to the previous release under jobs of both. No job
// restarts, and all compute what they compute without turns. TRELLIS_PREVIOUS is as for TestRollingUpdate.
func TestTurnsAcrossReleases(t *testing.T) {
	previous := previousCheckout(t)
	program := buildLocal(t) // it takes the cluster down, so its folder has to stay until then
	s := newComputing(t, "releases", filepath.Join(previous, "bin", "local"), previous, releasesFile)
	for _, job := range s.jobs[:2] {
		s.create(t, s.run.Setup.Pod(job))
	}
	t.Run("shims and coordinator of the previous release", func(t *testing.T) { s.waitForOneAnother(t, 2) })

	before := s.local
	s.local.Program, s.local.Folder = program, ""
	s.reinstall(t)
	t.Run("shims of the previous release under the present coordinator", func(t *testing.T) { s.waitForOneAnother(t, 2) })
	s.create(t, s.run.Setup.Pod(s.jobs[2]))
	t.Run("shims of both releases under the present coordinator", func(t *testing.T) { s.waitForOneAnother(t, 3) })

	present := s.local
	s.local = before
	s.reinstall(t)
	t.Run("shims of both releases under the previous coordinator", func(t *testing.T) { s.waitForOneAnother(t, 3) })

	s.local = present // its `down` knows everything that may be left
	for _, job := range s.jobs {
		eventually(t, job.Name+" finishes", 10*time.Minute, func() bool { return s.pod(t, job.Name).Status.Phase == corev1.PodSucceeded })
		require.Zero(t, s.restartsOf(t, job.Name), job.Name)
	}
	t.Run("results are those of runs without turns", s.resultsAreThoseOfUngatedRuns)
}

// reinstall installs the Trellis of s.local, and waits until it is ready.
func (s *stage) reinstall(t *testing.T) {
	require.NoError(t, s.local.Install(t.Context(), string(policy.Default), policy.DefaultInterval))
	s.awaitReady(t)
}

// waitForOneAnother waits until the first jobs have gone on, and have waited for their turns since the coordinator started.
func (s *stage) waitForOneAnother(t *testing.T, jobs int) {
	before := map[string]int64{}
	for _, job := range s.jobs[:jobs] {
		before[job.Name] = s.step(t, job.Name)
	}
	eventually(t, "turns pass between all jobs", 3*time.Minute, func() bool {
		for name, step := range before {
			known := s.sample(t, name)
			if known == nil || known.Sample.Step <= step || known.Sample.GPUTime == nil {
				return false
			}
			if of := known.Sample.GPUTime; !of.Paused || !of.Measured || of.Waited <= 0 {
				return false
			}
		}
		return s.sum(t, "trellis_coordinator_turn_switches_total") > 0
	})
}
