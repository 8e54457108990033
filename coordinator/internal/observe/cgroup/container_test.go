package cgroup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

// The freezer of cgroup v2 may be in a hierarchy of its own, next to those of version 1.
func TestTree_Container(t *testing.T) {
	const (
		pod       growth.PodUID = "0b1f3a52-8f1c-4a4e-9d55-0a8c7c1f5d11"
		container               = "cb88605bc9d532688ef901c39041646d"
		path                    = "kubepods/burstable/pod" + string(pod) + "/" + container
	)
	for name, tc := range map[string]struct {
		files []string
		want  string
	}{
		"version 2":       {[]string{"cgroup.controllers", path + "/cgroup.freeze"}, path},
		"version 1":       {[]string{"cpu/" + path + "/cpu.shares"}, "cpu/" + path},
		"both":            {[]string{"cpu/" + path + "/cpu.shares", "unified/" + path + "/cgroup.freeze"}, "unified/" + path},
		"another runtime": {[]string{"cpu/" + path + "/cpu.shares", "unified/system.slice/cgroup.freeze"}, "cpu/" + path},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, file := range tc.files {
				full := filepath.Join(root, file)
				require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
				require.NoError(t, os.WriteFile(full, nil, 0o600))
			}
			found, err := New(root, t.TempDir()).Container(pod, container)
			require.NoError(t, err)
			require.Equal(t, filepath.Join(root, tc.want), found)
		})
	}
}
