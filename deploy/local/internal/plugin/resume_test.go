package plugin_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// podOf are the fields of the record of a running pod that say of which job it is, and whether that is paused.
type podOf struct{ name, controller, gang, set, paused, save string }

// replay returns a folder for a kubectl that knows these pods. "get pod" has the first of them.
func replay(t *testing.T, pods ...podOf) string {
	t.Helper()
	quoted := func(v string) string {
		if v == "" {
			return ""
		}
		return `"` + v + `"`
	}
	files := map[string]string{"annotate": "", "deployment": "A\t--moves=requested\n"}
	for _, p := range pods {
		line := record("P", "default", p.name, "node-1", "Running", "Burstable", "2026-11-27T07:00:00Z", `"GPU-1"`, `"Progressing"`, "", "1 ",
			"100m ", `"1Gi"`, "uid-"+p.name, "", quoted(p.paused), p.controller, quoted(p.gang), "", "", "", quoted(p.save), p.set)
		if files["pod"] == "" {
			files["pod"] = line
		}
		files["pods"] += line
	}
	return written(t, files)
}

// written returns a folder with files.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for file, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600))
	}
	return folder
}

// A job is paused while one of its pods has the annotation, so all of its pods lose it.
func TestPlugin_ResumesJobs(t *testing.T) {
	for name, tc := range map[string]struct {
		pods    []podOf
		resumed string // the pods that are annotated
		note    string
	}{
		"a pod": {
			pods:    []podOf{{name: "alone", paused: "true"}, {name: "other", paused: "true"}},
			resumed: "alone",
		},
		"a pod of a job": {
			pods:    []podOf{{name: "ddp-0", controller: "Job/ddp", paused: "true"}, {name: "ddp-1", controller: "Job/ddp"}},
			resumed: "ddp-0",
		},
		"another pod of a job": {
			pods:    []podOf{{name: "ddp-1", controller: "Job/ddp"}, {name: "ddp-0", controller: "Job/ddp", paused: "true"}},
			resumed: "ddp-0",
		},
		"a job of which several pods are paused": {
			pods: []podOf{
				{name: "ddp-0", controller: "Job/ddp", paused: "true"},
				{name: "ddp-1", controller: "Job/ddp", paused: "false"},
				{name: "ddp-2", controller: "Job/ddp", paused: " true "},
				{name: "other-0", controller: "Job/other", paused: "true"},
				{name: "apart-0", controller: "Job/ddp", gang: "none", paused: "true"},
			},
			resumed: "ddp-0 ddp-2",
		},
		"another pod of a gang": {
			pods: []podOf{
				{name: "a-0", controller: "ReplicaSet/a", gang: "bert/3"},
				{name: "b-0", controller: "ReplicaSet/b", gang: "bert/3", paused: "true"},
				{name: "bare", gang: "bert/3", paused: "true"},
				{name: "a-1", controller: "ReplicaSet/a", paused: "true"},
				{name: "a-2", controller: "ReplicaSet/a", gang: "gpt/3", paused: "true"},
			},
			resumed: "b-0 bare",
		},
		"another pod of a JobSet": {
			pods: []podOf{
				{name: "set-node-0", controller: "Job/set-node-0", set: "set"},
				{name: "set-node-1", controller: "Job/set-node-1", set: "set", paused: "true"},
				{name: "own-node-1", controller: "Job/own-node-1", set: "own", paused: "true"},
			},
			resumed: "set-node-1",
		},
		"a pod that is placed alone": {
			pods: []podOf{
				{name: "apart-0", controller: "Job/apart", gang: "none", paused: "true"},
				{name: "apart-1", controller: "Job/apart", gang: "none", paused: "true"},
			},
			resumed: "apart-0",
		},
		"a pod of a StatefulSet": {
			pods: []podOf{
				{name: "db-0", controller: "StatefulSet/db", paused: "true"},
				{name: "db-1", controller: "StatefulSet/db", paused: "true"},
				{name: "db-2", controller: "StatefulSet/db"},
				{name: "db-3", controller: "StatefulSet/db", paused: "true", save: "move-3"},
			},
			resumed: "db-0",
			note:    "of the same StatefulSet/db these are paused too: db-1. If they are one job, it waits until each of them is resumed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, replay(t, tc.pods...), "resume", "pod/"+tc.pods[0].name)
			require.Zero(t, got.code, got.err)
			require.Equal(t, "annotate pod "+tc.resumed+" -n default --overwrite gpushare/paused-\n", changes(got.commands))
			require.Contains(t, got.out, ": it may continue\n")
			require.Contains(t, got.err, tc.note)
			require.Equal(t, tc.note == "", got.err == "", got.err)
		})
	}
}

// A request that would change nothing fails, and names the pods that are paused.
func TestPlugin_SaysWhatIsNotPaused(t *testing.T) {
	for name, tc := range map[string]struct {
		pods []podOf
		want string
	}{
		"a pod":                          {[]podOf{{name: "alone"}}, "pod default/alone is not paused. Nothing has changed"},
		"a pod whose annotation says so": {[]podOf{{name: "alone", paused: "false"}}, "pod default/alone is not paused. Nothing has changed"},
		"a job": {
			[]podOf{{name: "ddp-0", controller: "Job/ddp"}, {name: "ddp-1", controller: "Job/ddp"}, {name: "other", controller: "Job/other", paused: "true"}},
			"pod default/ddp-0 is not paused. Nothing has changed",
		},
		"a pod of a StatefulSet": {
			[]podOf{
				{name: "db-0", controller: "StatefulSet/db"},
				{name: "db-1", controller: "StatefulSet/db", paused: "true"},
				{name: "db-2", controller: "StatefulSet/db", paused: "true"},
			},
			"pod default/db-0 is not paused. Of its StatefulSet/db these are: db-1 db-2. " +
				"If they are one job, resume each of them: kubectl gpushare resume db-1",
		},
		"a job that moves": {
			[]podOf{{name: "ddp-0", controller: "Job/ddp"}, {name: "ddp-1", controller: "Job/ddp", paused: "true", save: "move-1"}},
			"the job of pod default/ddp-0 moves, and waits for that: ddp-1. It continues by itself. Nothing has changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, replay(t, tc.pods...), "resume", tc.pods[0].name)
			require.Equal(t, 1, got.code)
			require.Contains(t, got.err, tc.want)
			require.Empty(t, got.out)
			require.Empty(t, changes(got.commands))
		})
	}
}

// A user who may not list pods can still resume a pod that is paused itself.
func TestPlugin_ResumesWhatItMayRead(t *testing.T) {
	const refusal = `pods is forbidden: User "dev" cannot list resource "pods"`
	for paused, want := range map[string]string{
		"true": "whether other pods of its job are paused cannot be read: " + refusal,
		"":     "pod default/ddp-0 is not paused, and whether another pod of its job is cannot be read: " + refusal + ". Nothing has changed",
	} {
		t.Run("paused: "+paused, func(t *testing.T) {
			folder := replay(t, podOf{name: "ddp-0", controller: "Job/ddp", paused: paused})
			require.NoError(t, os.WriteFile(filepath.Join(folder, "pods.err"), []byte("Error from server (Forbidden): "+refusal+"\n"), 0o600))
			got := run(t, folder, "resume", "ddp-0")
			require.Contains(t, got.err, want)
			require.Equal(t, paused != "", got.code == 0)
			require.Equal(t, paused != "", changes(got.commands) != "")
		})
	}
}

// A dry run and JSON name each pod.
func TestPlugin_ResumesAsJSON(t *testing.T) {
	got := run(t, replay(t, podOf{name: "ddp-1", controller: "Job/ddp"}, podOf{name: "ddp-0", controller: "Job/ddp", paused: "true"}),
		"resume", "ddp-1", "-o", "json", "--dry-run")
	require.Zero(t, got.code, got.err)
	require.Equal(t, `{"namespace":"default","name":"ddp-0","command":"resume","annotation":"gpushare/paused","value":null,"dryRun":true}`+"\n", got.out)
	require.Contains(t, got.commands, "annotate pod ddp-0 -n default --overwrite --dry-run=server gpushare/paused-\n")
}
