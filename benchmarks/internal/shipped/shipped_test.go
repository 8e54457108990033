package shipped_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/trellis-gpu/trellis/benchmarks/internal/shipped"
	"github.com/trellis-gpu/trellis/growth/policy"
)

const deploy = "../../../deploy"

// literal matches an environment variable of a configMapGenerator.
var literal = regexp.MustCompile(`(?m)^\s*- (TRELLIS_\w+)=(\S+)$`)

// literals reads the environment variables that a kustomization sets.
func literals(t *testing.T, folder string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, folder, "kustomization.yaml"))
	require.NoError(t, err)
	all := map[string]string{}
	for _, found := range literal.FindAllStringSubmatch(string(text), -1) {
		all[found[1]] = found[2]
	}
	return all
}

// container reads the first container of a workload's manifest.
func container(t *testing.T, manifest string) corev1.Container {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, manifest))
	require.NoError(t, err)
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var workload struct {
			Spec struct {
				Template struct{ Spec corev1.PodSpec }
			}
		}
		err := decoder.Decode(&workload)
		require.False(t, errors.Is(err, io.EOF), "%s has no container", manifest)
		require.NoError(t, err)
		if containers := workload.Spec.Template.Spec.Containers; len(containers) > 0 {
			return containers[0]
		}
	}
}

func TestShipped_CoordinatorHasTheDefaults(t *testing.T) {
	base := literals(t, "base/coordinator")
	require.Equal(t, string(policy.Default), base["TRELLIS_POLICY"])
	require.Equal(t, policy.DefaultInterval.String(), base["TRELLIS_INTERVAL"])
	require.Equal(t, "0.1", base["TRELLIS_ALPHA"])
	require.InDelta(t, 0.1, policy.DefaultAlpha, 0)
	for _, arg := range container(t, "base/coordinator/daemonset.yaml").Args {
		for _, measured := range []string{"--policy", "--interval", "--alpha", "--beta", "--objective", "--enforce"} {
			require.False(t, strings.HasPrefix(arg, measured+"="), "%s: set it in the kustomization", arg)
		}
	}
}

// The local cluster, on which real jobs are measured, may differ in what it cannot have, real GPUs, and in what is true of it
// only: its nodes are on one machine, so every folder of a host is the same on all of them.
func TestShipped_LocalClusterOverridesNothingThatIsMeasured(t *testing.T) {
	require.Equal(t, map[string]string{
		"TRELLIS_GPUS":              "emulated:2x24GiB",
		"TRELLIS_SHARED_HOST_PATHS": "/",
	}, literals(t, "local/overlay"))
}

func TestShipped_GarbageCollectorOfTheBinaries(t *testing.T) {
	for manifest, want := range map[string]string{
		"base/extender/deployment.yaml":    shipped.ExtenderGOGC,
		"base/deviceplugin/daemonset.yaml": shipped.DevicepluginGOGC,
	} {
		require.Contains(t, container(t, manifest).Env, corev1.EnvVar{Name: "GOGC", Value: want}, manifest)
	}
}
