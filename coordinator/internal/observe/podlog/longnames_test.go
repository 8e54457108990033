package podlog

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

// longest is a pod whose log folder has the given length: a namespace of 63 characters, a UID of 36 and two underscores
// leave the rest to its name.
func longest(length int, end string) growth.PodRef {
	return growth.PodRef{
		Namespace: strings.Repeat("n", 63),
		Name:      strings.Repeat("p", length-63-36-2-len(end)) + end,
		UID:       growth.PodUID(strings.Repeat("0", 35) + end),
	}
}

func TestFolder_LongNames(t *testing.T) {
	root := t.TempDir()
	container := strings.Repeat("c", 63)
	one, other := Folder(root, longest(255, "1"), container), Folder(root, longest(255, "2"), container)
	require.Len(t, filepath.Base(filepath.Dir(one)), 255, "the longest name that a file system takes")
	require.NotEqual(t, one, other)
	for folder, text := range map[string]string{one: "loss 0.5", other: "loss 0.7"} {
		require.NoError(t, os.MkdirAll(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "0.log"), []byte(stamp+" stdout F "+text+"\n"), 0o600))
		_, err := os.ReadDir(folder)
		require.NoError(t, err)
	}
}

// TestPoll_NameTooLong: kubelet itself cannot start a container of such a pod. The error is reported, and nothing else happens.
func TestPoll_NameTooLong(t *testing.T) {
	pod := longest(256, "1")
	tail := New(Folder(t.TempDir(), pod, "train"), nil)
	defer tail.Close()
	require.ErrorIs(t, tail.Poll(time.Now()), syscall.ENAMETOOLONG)
}
