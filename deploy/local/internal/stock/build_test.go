package stock

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// small is a source folder whose only real program is pause.
func small(t *testing.T, code string) (string, []Program) {
	dir := source(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/small\n\ngo 1.26\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "internal/pause/main.go"), []byte(code), 0o644))
	return dir, []Program{{Name: "pause", Module: ".", Package: "./internal/pause"}}
}

func TestEnsure_BuildsOnceForTwoCallers(t *testing.T) {
	dir, programs := small(t, "package main\n\nfunc main() {}\n")
	cache := t.TempDir()
	var said [2]bytes.Buffer
	var folders [2]string
	var both sync.WaitGroup
	for i := range folders {
		both.Go(func() {
			var err error
			folders[i], err = Builder{Source: dir, Cache: cache, Out: &said[i]}.Ensure(t.Context(), programs)
			if err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	require.Equal(t, folders[0], folders[1])
	require.Empty(t, Missing(folders[0], programs))
	require.Equal(t, 1, bytes.Count(append(said[0].Bytes(), said[1].Bytes()...), []byte("[1/1] pause")))
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
