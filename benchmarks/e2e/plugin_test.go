//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// pluginShowsJobs runs scripts/kubectl-gpushare with the cluster's own kubectl.
func (s *stage) pluginShowsJobs(t *testing.T) {
	job := s.jobs[0]
	eventually(t, job.Name+" has a decision, and an event about its arrival", time.Minute, func() bool {
		sample := s.sample(t, job.Name)
		return sample != nil && sample.Sample.Share > 0 && s.hasEvent(t, job.Name, "JobArrived", "")
	})
	explained := s.plugin(t, "explain", job.Name, "-n", s.run.Setup.Namespace)
	for _, part := range []string{job.Name, s.pod(t, job.Name).Annotations[gpushare.GPUAnnotation], "JobArrived", "BECAUSE", "harmless: "} {
		require.Contains(t, explained, part)
	}
	require.Contains(t, s.plugin(t, "inspect", "-d"), s.run.Setup.Namespace+"/"+job.Name)

	var top struct {
		Nodes []struct{ Units, Used, Jobs int }
		Jobs  []struct {
			Name  string
			Units int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(s.plugin(t, "top", "-o", "json")), &top))
	require.Len(t, top.Nodes, nodes)
	require.Equal(t, 48, top.Nodes[0].Units, "two GPUs of 24 GiB")
	used := 0
	for _, j := range top.Jobs {
		used += j.Units
	}
	require.Equal(t, used, top.Nodes[0].Used+top.Nodes[1].Used)
}

func (s *stage) plugin(t *testing.T, args ...string) string {
	folder := t.TempDir()
	kubectl := fmt.Sprintf("#!/bin/sh\nexec %s kubectl --name %s -- \"$@\"\n", s.local.Program, s.local.Name)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kubectl"), []byte(kubectl), 0o755))
	cmd := exec.CommandContext(t.Context(), "../../scripts/kubectl-gpushare", args...)
	cmd.Env = append(os.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	return string(out)
}
