package selinux

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsLabel(t *testing.T) {
	for text, want := range map[string]bool{
		"system_u:system_r:spc_t:s0\x00":               true,
		"system_u:system_r:container_t:s0:c10,c20\x00": true,
		"unconfined\n":                          false,
		"cri-containerd.apparmor.d (enforce)\n": false,
		"":                                      false,
	} {
		require.Equal(t, want, isLabel(text), "%q", text)
	}
}

func TestKernel_FileWithoutLabel(t *testing.T) {
	if Kernel() != nil {
		t.Skip("this machine uses SELinux, where each file has a label")
	}
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	label, err := kernel{}.Get(path)
	require.NoError(t, err)
	require.Empty(t, label)
	_, err = kernel{}.Get(path + "-missing")
	require.ErrorContains(t, err, "SELinux label")
}
