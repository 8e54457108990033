//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// TestRollingUpdate installs a previous version of Trellis, starts jobs, and updates everything under them. The
// environment variable TRELLIS_PREVIOUS names a built checkout of that version; scripts/check-upgrade makes one.
func TestRollingUpdate(t *testing.T) {
	previous := previousCheckout(t)
	present := buildLocal(t)
	s := newStageOf(t, "upgrade", filepath.Join(previous, "bin", "local"), previous)
	for i := range s.jobs { // the jobs of s.run: they must outlast the update, on a fast machine too
		s.jobs[i].Steps += s.jobs[i].Steps / 2
	}
	s.run.Timeout = 20 * time.Minute
	watched := make(chan error, 1)
	var seen *timeline.Timeline
	go func() {
		var err error
		seen, err = s.run.Watch(t.Context())
		watched <- err
	}()
	s.holdMemory(t)
	before := s.jobsUnderway(t)

	s.local.Program, s.local.Folder = present, ""
	require.NoError(t, s.local.Install(t.Context(), string(policy.Default), policy.DefaultInterval))
	s.awaitReady(t)

	t.Run("the bus holds no record that the new version cannot read", func(t *testing.T) {
		state, err := s.State(t.Context())
		require.NoError(t, err)
		require.Zero(t, state.Refused)
	})
	t.Run("GPU memory of running jobs stays allocated", s.memoryIsStillHeld)
	for name, was := range before {
		t.Run("job "+name+" does not notice", func(t *testing.T) { s.undisturbed(t, name, was) })
	}

	require.NoError(t, <-watched)
	require.NoError(t, results.Failures(seen), "every job finishes")
	for _, job := range seen.Last().Jobs {
		require.Zero(t, job.Restarts, "%s restarted", job.Name)
	}
}

// previousCheckout returns the checkout of the previous version.
func previousCheckout(t *testing.T) string {
	previous := os.Getenv("TRELLIS_PREVIOUS")
	if previous == "" {
		t.Skip("SKIPPED: TRELLIS_PREVIOUS names no checkout; run scripts/check-upgrade")
	}
	skipUnlessRoot(t)
	return previous
}

// underway is a running job before the update.
type underway struct {
	container string // the ID of its container
	step      int64
	gpus      []growth.GPU
}

// jobsUnderway waits until every job has reported a metric, has its GPU, and was given a share.
func (s *stage) jobsUnderway(t *testing.T) map[string]underway {
	found := map[string]underway{}
	for _, job := range s.jobs {
		eventually(t, job.Name+" trains under the previous version", 3*time.Minute, func() bool {
			pod, err := s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).Get(t.Context(), job.Name, metav1.GetOptions{})
			if err != nil || len(pod.Status.ContainerStatuses) == 0 {
				return false
			}
			known := s.sample(t, job.Name)
			if known == nil || !known.Sample.Reported || len(known.Sample.GPUs) == 0 || known.Sample.Share == 0 {
				return false
			}
			found[job.Name] = underway{
				container: pod.Status.ContainerStatuses[0].ContainerID,
				step:      known.Sample.Step,
				gpus:      known.Sample.GPUs,
			}
			return true
		})
	}
	return found
}

// undisturbed checks that a job still runs in its container, and that its records went on where they were.
func (s *stage) undisturbed(t *testing.T, name string, was underway) {
	pod := s.pod(t, name)
	require.Equal(t, was.container, pod.Status.ContainerStatuses[0].ContainerID)
	require.Zero(t, pod.Status.ContainerStatuses[0].RestartCount)
	if pod.Status.Phase == corev1.PodSucceeded {
		return // its records are gone, as they should be
	}
	eventually(t, "the new coordinator continues its record", time.Minute, func() bool {
		known := s.sample(t, name)
		if known == nil {
			return s.pod(t, name).Status.Phase == corev1.PodSucceeded
		}
		return known.Sample.Step > was.step
	})
	if known := s.sample(t, name); known != nil {
		require.Equal(t, was.gpus, known.Sample.GPUs, "its allocation is still recorded")
		require.NotZero(t, known.Sample.Share)
		require.True(t, known.Sample.Reported)
	}
	require.Equal(t, string(was.gpus[0]), s.pod(t, name).Annotations[gpushare.GPUAnnotation])
}

// holdMemory has a pod on each node that holds memory of a GPU and does nothing, however fast the jobs end.
func (s *stage) holdMemory(t *testing.T) {
	for _, holder := range holders {
		pod := s.scriptPod(holder.name, holder.node, "exec sleep infinity", "10m")
		pod.Annotations[gpushare.TuneAnnotation] = "none"
		s.create(t, pod)
	}
	for _, holder := range holders {
		eventually(t, holder.name+" runs", time.Minute, func() bool { return s.pod(t, holder.name).Status.Phase == corev1.PodRunning })
	}
}

var holders = []struct{ name, node string }{{"holder-1", "node-1"}, {"holder-2", "node-2"}}

// memoryIsStillHeld submits a pod that needs two empty GPUs. Each node has two, of which one has a holder, so it must wait.
func (s *stage) memoryIsStillHeld(t *testing.T) {
	job := s.jobs[0]
	job.Name, job.GPUMemory = "whole", "24Gi"
	pod := s.run.Setup.Pod(job)
	pod.Annotations[gpushare.CountAnnotation] = "2"
	s.create(t, pod)
	eventually(t, "an event that no node has room", 30*time.Second, func() bool {
		return s.hasEvent(t, "whole", "FailedScheduling", "Insufficient "+gpushare.Resource)
	})
	s.remove(t, "whole", holders[0].name, holders[1].name)
}
