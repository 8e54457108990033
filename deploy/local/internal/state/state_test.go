package state

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/network"
	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
)

func exampleRecord(t testing.TB) Record {
	plan, err := network.NewPlan("trellis", 2, nil)
	require.NoError(t, err)
	return Record{
		Version: recordVersion, Phase: Up, Created: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Plan: plan,
		CPUsPerNode: 1, Cores: map[string]string{"node-1": "0", "node-2": "1"}, Stock: "/stock",
		WithPID: &process.Identity{PID: 5, Start: 6}, Supervisor: process.Identity{PID: 7, Start: 8},
		Processes: map[string]process.Identity{"etcd": {PID: 9, Start: 10}},
	}
}

func TestRecord_RoundTrip(t *testing.T) {
	folder := Root(t.TempDir()).Cluster("trellis")
	_, err := folder.Read()
	require.ErrorIs(t, err, ErrNone)

	want := exampleRecord(t)
	require.NoError(t, folder.Write(want))
	got, err := folder.Read()
	require.NoError(t, err)
	require.Equal(t, want, got)

	n, ok := got.Node("node-2")
	require.True(t, ok)
	require.Equal(t, "node-2", n.Name)
	_, ok = got.Node("node-3")
	require.False(t, ok)
}

func TestRead_RefusesInvalidRecords(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"not JSON":            {"hello", "invalid character"},
		"empty":               {"", "EOF"},
		"another version":     {`{"version": 99}`, "version 99"},
		"a name that escapes": {`{"version": 1, "plan": {"cluster": "../../etc"}}`, "lower-case"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			folder := Root(t.TempDir()).Cluster("trellis")
			require.NoError(t, os.MkdirAll(string(folder), 0o755))
			require.NoError(t, os.WriteFile(folder.Record(), []byte(tc.text), 0o644))
			_, err := folder.Read()
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":1,"plan":{"cluster":"trellis","nodes":[{"name":"node-1"}]}}`))
	f.Add([]byte(`{"version":1,"processes":{"etcd":{"pid":-1}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := decode(bytes.NewReader(text))
		if err == nil {
			require.NoError(t, network.ValidateName(r.Plan.Cluster))
		}
	})
}

func TestClusters_ListsFoldersWithAValidName(t *testing.T) {
	root := Root(t.TempDir())
	for _, dir := range []string{"b", "a", "Not-One", ".hidden"} {
		require.NoError(t, os.Mkdir(filepath.Join(string(root), dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(string(root), "file"), nil, 0o644))
	names, err := root.Clusters()
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, names)

	names, err = Root("/nonexistent").Clusters()
	require.NoError(t, err)
	require.Empty(t, names)
}

func TestRoot_RefusesInvalidPaths(t *testing.T) {
	require.NoError(t, DefaultRoot.Validate())
	require.ErrorContains(t, Root("here").Validate(), "absolute")
	require.ErrorContains(t, Root("/"+strings.Repeat("a", 48)).Validate(), "at most 48")
}

func TestAcquire_IsExclusive(t *testing.T) {
	root := Root(t.TempDir())
	first, err := root.LockCluster(t.Context(), "trellis", func() { t.Error("nobody to wait for") })
	require.NoError(t, err)
	other, err := root.LockCluster(t.Context(), "other", func() { t.Error("another cluster's lock is another") })
	require.NoError(t, err)
	other.Release()

	said := 0
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	_, err = root.LockCluster(ctx, "trellis", func() { said++ })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 1, said)

	gained := make(chan *Lock)
	go func() {
		second, err := root.LockCluster(context.Background(), "trellis", func() {})
		if err != nil {
			close(gained)
			return
		}
		gained <- second
	}()
	first.ReleaseAndRemove()
	second := <-gained
	require.NotNil(t, second)
	require.FileExists(t, filepath.Join(string(root), "trellis.lock"), "a lock on a removed file would lock nothing")
	second.Release()
}
