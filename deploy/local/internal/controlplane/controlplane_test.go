package controlplane

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/network"
	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files; check the differences before you commit them")

func exampleLayout(t *testing.T, folder state.Folder) Layout {
	plan, err := network.NewPlan("trellis", 2, nil)
	require.NoError(t, err)
	return Layout{Plan: plan, Folder: folder, Stock: "/stock"}
}

func TestPrograms_MatchGoldenFiles(t *testing.T) {
	l := exampleLayout(t, "/state/trellis")
	for _, p := range []process.Program{l.Etcd(), l.APIServer(), l.ControllerManager(), l.Scheduler()} {
		t.Run(p.Name, func(t *testing.T) {
			got := p.Path + "\n" + strings.Join(p.Args, "\n") + "\n"
			golden := filepath.Join("testdata", p.Name+".args")
			if *rewrite {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
			require.NotContains(t, got, "0.0.0.0", "each cluster has its own address")
		})
	}
}

func TestWriteCertificates_IssuesEveryNamedFile(t *testing.T) {
	l := exampleLayout(t, state.Folder(t.TempDir()))
	require.NoError(t, l.WriteCertificates(time.Now()))
	for _, p := range []process.Program{l.Etcd(), l.APIServer(), l.ControllerManager(), l.Scheduler()} {
		for _, arg := range p.Args {
			_, value, _ := strings.Cut(arg, "=")
			if strings.HasSuffix(value, ".crt") || strings.HasSuffix(value, ".key") || strings.HasSuffix(value, ".kubeconfig") {
				require.FileExists(t, value, "%s %s", p.Name, arg)
			}
		}
	}
	for _, n := range l.Plan.Nodes {
		require.FileExists(t, l.Folder.Kubeconfig(n.Name))
		require.FileExists(t, l.Folder.PKI("kubelet-"+n.Name+".crt"))
	}
	require.FileExists(t, l.Folder.Kubeconfig("admin"))
	_, err := l.NewClient()
	require.NoError(t, err)
}

func TestPending_GivesReasons(t *testing.T) {
	node := func(name, ready, message, taint string) string {
		taints := ""
		if taint != "" {
			taints = `{"key":"` + taint + `"}`
		}
		return `{"metadata":{"name":"` + name + `"},"spec":{"taints":[` + taints + `]},
			"status":{"conditions":[{"type":"DiskPressure","status":"False"},{"type":"Ready","status":"` + ready + `","message":"` + message + `"}]}}`
	}
	tests := map[string]struct {
		nodes string
		want  map[string]string
	}{
		"none registered":    {"", map[string]string{"node-1": "kubelet has not registered yet"}},
		"ready":              {node("node-1", "True", "", ""), map[string]string{}},
		"not ready":          {node("node-1", "False", "cni is missing", ""), map[string]string{"node-1": "cni is missing"}},
		"ready, but tainted": {node("node-1", "True", "", "not-ready"), map[string]string{"node-1": "taint not-ready"}},
		"a stranger":         {node("node-9", "True", "", ""), map[string]string{"node-1": "kubelet has not registered yet"}},
		"no condition": {`{"metadata":{"name":"node-1"}}`,
			map[string]string{"node-1": "kubelet reports no condition yet"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := pending([]byte(`{"items":[`+tc.nodes+`]}`), []string{"node-1"})
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
	_, err := pending([]byte("<html>"), nil)
	require.ErrorContains(t, err, "decode")
}

func FuzzPending(f *testing.F) {
	f.Add([]byte(`{"items":[{"metadata":{"name":"node-1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}]}`))
	f.Add([]byte(`{"items":[null]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		waiting, err := pending(body, []string{"node-1"})
		if err == nil {
			require.LessOrEqual(t, len(waiting), 1)
		}
	})
}
