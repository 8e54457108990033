package stock

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// small returns a source folder with one program, pause, which has the given code.
func small(t *testing.T, code string) (string, []Program) {
	dir := source(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/small\n\ngo 1.26\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "internal/pause/main.go"), []byte(code), 0o644))
	return dir, []Program{{Name: "pause", Module: ".", Package: "./internal/pause"}}
}

func TestEnsure_BuildsOnceForTwoCallers(t *testing.T) {
	dir, programs := small(t, "package main\n\nfunc main() {}\n")
	cache := t.TempDir()
	var outputs [2]bytes.Buffer
	var folders [2]string
	var callers sync.WaitGroup
	for i := range folders {
		callers.Go(func() {
			var err error
			folders[i], err = Builder{Source: dir, Cache: cache, Out: &outputs[i]}.Ensure(t.Context(), programs)
			if err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	require.Equal(t, folders[0], folders[1])
	require.Empty(t, Missing(folders[0], programs))
	require.Equal(t, 1, bytes.Count(append(outputs[0].Bytes(), outputs[1].Bytes()...), []byte("[1/1] pause")))
}

func TestEnsure_FailureNamesTheCauseAndLeavesNothing(t *testing.T) {
	dir, programs := small(t, "package main\n\nfunc main() { undefined() }\n")
	cache := t.TempDir()
	folder, err := Builder{Source: dir, Cache: cache, Out: &bytes.Buffer{}}.Ensure(t.Context(), programs)
	require.ErrorContains(t, err, "undefined: undefined")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1, "only the lock: %v", entries)
}
