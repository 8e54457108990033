package enforce_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

func TestDirect_WritesWeightsOfBothVersions(t *testing.T) {
	const uid = growth.PodUID("0f2b6a5c-8a37-4f0e-9a51-3a2f0c9d7e11")
	for name, tc := range map[string]struct {
		file string
		want int64
		says string
	}{
		"v1":        {"cpu/kubepods/pod" + string(uid) + "/cpu.shares", 256, ""},
		"v2":        {"kubepods/pod" + string(uid) + "/cpu.weight", 10, ""},
		"no weight": {"kubepods/pod" + string(uid) + "/cgroup.procs", 0, "no CPU weight"},
		"no pod":    {"kubepods/x", 0, "no cgroup on this node"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			file := filepath.Join(root, tc.file)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			if name != "v1" {
				require.NoError(t, os.WriteFile(filepath.Join(root, "cgroup.controllers"), nil, 0o600))
			}
			results := make(chan enforce.Result, 1)
			direct := enforce.NewDirect(cgroup.New(root, "/nowhere"), func(r enforce.Result) { results <- r })
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- direct.Run(ctx) }()
			direct.Enforce([]node.Resize{{Pod: growth.PodRef{UID: uid}, From: 500, To: 250}})
			got := <-results
			cancel()
			require.NoError(t, <-done)
			if tc.says != "" {
				require.ErrorContains(t, got.Err, tc.says)
				require.True(t, got.Gone())
				return
			}
			require.NoError(t, got.Err)
			require.True(t, got.Verified)
			require.Equal(t, tc.want, got.Weight)
		})
	}
}
