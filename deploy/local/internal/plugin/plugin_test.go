package plugin_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the outputs in testdata")

const script = "../../../../scripts/kubectl-gpushare"

// result is what the script printed, and the kubectl commands that it ran, with their templates by the file that was replayed.
type result struct {
	out, err  string
	code      int
	commands  string
	templates map[string]*template.Template
}

// run runs the script with a kubectl that replays a folder of testdata.
func run(t *testing.T, folder string, args ...string) result {
	t.Helper()
	testdata, err := filepath.Abs("testdata")
	require.NoError(t, err)
	replayed := filepath.Join(t.TempDir(), "commands")
	cmd := exec.CommandContext(t.Context(), script, args...)
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(testdata, folder)
	}
	cmd.Env = append(os.Environ(), "PATH="+testdata+string(os.PathListSeparator)+os.Getenv("PATH"), "REPLAY="+folder, "REPLAYED="+replayed)
	var out, errors strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	commands, _ := os.ReadFile(replayed) // absent if the script ran no command
	return result{
		out:       out.String(),
		err:       errors.String(),
		code:      cmd.ProcessState.ExitCode(),
		commands:  string(commands),
		templates: templates(t, replayed+".templates"),
	}
}

// templates parses the templates of a run as kubectl does.
func templates(t *testing.T, file string) map[string]*template.Template {
	t.Helper()
	noted, _ := os.ReadFile(file) // absent if the script passed none
	parsed := map[string]*template.Template{}
	for line := range strings.Lines(string(noted)) {
		read, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		var err error
		parsed[read], err = template.New(read).Parse(text)
		require.NoError(t, err, text)
	}
	return parsed
}

func TestPlugin_Prints(t *testing.T) {
	for name, tc := range map[string]struct {
		folder string
		args   []string
	}{
		"top":                {"cluster", []string{"top"}},
		"inspect":            {"cluster", []string{"inspect"}},
		"inspect-details":    {"cluster", []string{"inspect", "-d"}},
		"inspect-node":       {"cluster", []string{"inspect", "node-2", "--details"}},
		"explain-running":    {"running", []string{"explain", "second-nqh8f"}},
		"explain-pending":    {"pending", []string{"explain", "large-7xf9z", "-n", "default"}},
		"explain-ended":      {"ended", []string{"explain", "pod/first-tsrlz"}},
		"explain-forbidden":  {"forbidden", []string{"explain", "second-nqh8f"}},
		"explain-no-answer":  {"unreachable", []string{"explain", "second-nqh8f"}},
		"explain-no-trellis": {"removed", []string{"explain", "second-nqh8f", "--trellis-namespace=gpus"}},
		"no-gpus":            {"empty", []string{"top"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, tc.folder, tc.args...)
			require.Zero(t, got.code, got.err)
			golden := filepath.Join("testdata", name+".txt")
			if *rewrite {
				require.NoError(t, os.WriteFile(golden, []byte(got.out), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got.out)
		})
	}
}

func TestPlugin_PrintsJSON(t *testing.T) {
	for name, tc := range map[string]struct {
		folder string
		args   []string
		check  func(t *testing.T, got map[string]any)
	}{
		"top": {"cluster", []string{"top"}, func(t *testing.T, got map[string]any) {
			require.Len(t, got["nodes"], 2)
			require.Len(t, got["jobs"], 10, "first has ended")
			var shares, owners []any
			for _, job := range got["jobs"].([]any) {
				shares = append(shares, job.(map[string]any)["gpuSharePercent"])
				owners = append(owners, job.(map[string]any)["owner"])
			}
			require.Equal(t, []any{nil, nil, nil, nil, nil, nil, 30., 70., nil, nil}, shares, "null where it is unknown or invalid")
			require.Equal(t, []any{"gang/bert", "gang/bert", "Job/ddp", "Job/ddp", "", "", "", "", "", ""}, owners)
		}},
		"inspect": {"cluster", []string{"inspect", "node-1"}, func(t *testing.T, got map[string]any) {
			node := got["nodes"].([]any)[0].(map[string]any)
			require.Len(t, got["nodes"], 1)
			require.Equal(t, []any{"node-1", 48., 16., 24.}, []any{node["name"], node["units"], node["used"], node["unitsPerGPU"]})
		}},
		"explain": {"running", []string{"explain", "second-nqh8f"}, func(t *testing.T, got map[string]any) {
			require.Equal(t, "node-1", got["node"])
			require.InDelta(t, .94, got["coordinator"].(map[string]any)["share"], 0)
			require.Equal(t, "JobArrived", got["events"].([]any)[4].(map[string]any)["reason"])
		}},
		"explain where events are forbidden": {"unreachable", []string{"explain", "second-nqh8f"}, func(t *testing.T, got map[string]any) {
			require.Empty(t, got["events"])
		}},
		"explain a message with backslashes": {"escaped", []string{"explain", "second-nqh8f"}, func(t *testing.T, got map[string]any) {
			require.Equal(t, `matches log:"\\x1b\\[32mloss=\\alpha" ? and a\b`, got["events"].([]any)[0].(map[string]any)["message"])
		}},
		"inspect a node with its type": {"cluster", []string{"inspect", "node/node-1"}, func(t *testing.T, got map[string]any) {
			require.Len(t, got["nodes"], 1)
		}},
		"explain a pod that waits": {"pending", []string{"explain", "large-7xf9z"}, func(t *testing.T, got map[string]any) {
			require.Nil(t, got["coordinator"])
			require.Contains(t, got["unknown"], "not bound")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, tc.folder, append(tc.args, "-o", "json")...)
			require.Zero(t, got.code, got.err)
			var parsed map[string]any
			require.NoError(t, json.Unmarshal([]byte(got.out), &parsed), got.out)
			tc.check(t, parsed)
		})
	}
}

func TestPlugin_Errors(t *testing.T) {
	for name, tc := range map[string]struct {
		folder string
		args   []string
		want   string
	}{
		"a pod that shares no GPU":  {"foreign", []string{"explain", "plain"}, "default/plain does not share a GPU: it has neither the annotation gpushare/gpu-mem"},
		"a pod that does not exist": {"missing", []string{"explain", "nosuch"}, `pod nosuch: pods "nosuch" not found`},
		"no pod":                    {"running", []string{"explain"}, "explain needs the name of a pod"},
		"nodes may not be listed":   {"forbidden", []string{"top"}, `the nodes cannot be listed: nodes is forbidden: User "dev"`},
		"a node without GPUs":       {"cluster", []string{"inspect", "node-9"}, "node node-9 offers no GPU memory"},
		"an unknown command":        {"cluster", []string{"show"}, "unknown command show: explain, top, inspect, pause"},
		"move of a paused pod":      {"held", []string{"move", "held"}, "pod default/held is not moved: it is paused (gpushare/paused). Nothing has changed"},
		"move of a pod that cannot": {"nosave", []string{"move", "second-nqh8f"}, "it cannot save (gpushare/checkpoint is none)"},
		"move to its own node":      {"running", []string{"move", "second-nqh8f", "--to", "node-1"}, "it is on node node-1 already"},
		"move of a job to its node": {"gathered", []string{"move", "job/bert", "--to", "node-2"},
			"job/bert is not moved: its 2 pods are on node node-2 already. Nothing has changed"},
		"move to a node without a name": {"running", []string{"move", "second-nqh8f", "--to", ""}, `"" is not the name of a node`},
		"move to what is no node":       {"running", []string{"move", "second-nqh8f", "--to", "pod/a"}, `"pod/a" is not the name of a node`},
		"drain of what is no node":      {"running", []string{"drain", "job/a"}, `"job/a" is not the name of a node`},
		"another kind of dry run":       {"running", []string{"pause", "second-nqh8f", "--dry-run=maybe"}, "--dry-run=maybe: server, or none"},
		"move of a job of which a pod is gone": {"halfasked", []string{"move", "job/ddp"}, `not all pods of job/ddp can be annotated: pods "ddp-1" not found. ` +
			"Those that are make the job move: ddp-0. To withdraw that: kubectl annotate pod ddp-0 -n default gpushare/move-"},
		"move that is forbidden": {"gangdenied", []string{"move", "job/ddp"},
			`the pods ddp-0 ddp-1 of namespace default cannot be annotated: pods "ddp-0" is forbidden: User "dev"`},
		"history that cannot be read": {"unknown", []string{"history", "job/train"},
			"whether the job of job/train in namespace default has moved is not known"},
		"history of a recreated pod that cannot be read": {"unknown", []string{"history", "train-0-new77"},
			"whether the job of train-0-new77 in namespace default has moved is not known"},
		"history in JSON that cannot be read": {"unknown", []string{"history", "job/train", "-o", "json"},
			`cannot be read from the tuner: services "tuner:http" is forbidden`},
		"a wait that is neither":     {"running", []string{"drain", "node-1", "--wait=no"}, "--wait no: true or false"},
		"an invalid timeout":         {"running", []string{"drain", "node-1", "--timeout", "1h"}, "--timeout 1h: a number of seconds"},
		"a cordon that is forbidden": {"uncordonable", []string{"drain", "node-1"}, `node node-1 cannot be cordoned: nodes "node-1" is forbidden`},
		"an unknown flag":            {"cluster", []string{"top", "--all"}, "unknown flag --all"},
		"an unknown format":          {"cluster", []string{"top", "-o", "yaml"}, "only json is known"},
		"a flag without its value":   {"cluster", []string{"top", "-n"}, "-n needs a value"},
		"two names":                  {"cluster", []string{"inspect", "node-1", "node-2"}, "node-2 is the second"},
		"pause without a pod":        {"running", []string{"pause"}, "pause needs the name of a pod"},
		"pause of another pod":       {"foreign", []string{"pause", "plain"}, "default/plain does not share a GPU"},
		"pause of a pod that waits":  {"pending", []string{"pause", "large-7xf9z"}, "is Pending: pause is for running pods"},
		"drain without a node":       {"running", []string{"drain"}, "drain needs the name of a node"},
		"move without a name":        {"running", []string{"move"}, "move needs the name of a pod or a job"},
		"move of an unknown job":     {"gang", []string{"move", "job/none"}, "no pod of job/none runs and shares a GPU"},
		"save of a job":              {"gang", []string{"save", "job/ddp"}, "save needs the name of a pod, and job/ddp is none"},
		"save that is forbidden":     {"denied", []string{"save", "second-nqh8f"}, `cannot be annotated: pods "second-nqh8f" is forbidden: User "dev"`},
		"no command prints the help": {"cluster", nil, "Usage:"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, tc.folder, tc.args...)
			require.NotZero(t, got.code)
			require.Contains(t, got.err, tc.want)
			require.Empty(t, got.out)
		})
	}
}

func TestPlugin_PassesFlagsToKubectl(t *testing.T) {
	got := run(t, "running", "explain", "second-nqh8f", "--context", "prod", "--trellis-namespace=gpus")
	require.Zero(t, got.code, got.err)
	for line := range strings.Lines(strings.TrimSpace(got.commands)) {
		require.True(t, strings.HasPrefix(line, "--context prod "), line)
	}
	require.Contains(t, got.commands, "exec -n gpus -c coordinator pod/coordinator-mww6f -- /coordinator --explain default/second-nqh8f")
	require.NotContains(t, got.commands, "unknown")

	got = run(t, "cluster", "top", "-n", "other")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.commands, "get pods -n other ")
}

func TestPlugin_RequestsByAnnotation(t *testing.T) {
	for name, tc := range map[string]struct {
		args          []string
		command, want string
	}{
		"pause": {[]string{"pause", "second-nqh8f"}, "annotate pod second-nqh8f -n default --overwrite gpushare/paused=true\n", "it is to pause after its present step"},
		"save":  {[]string{"save", "second-nqh8f"}, "annotate pod second-nqh8f -n default --overwrite gpushare/save=2", "it is to save after its present step"},
		"move":  {[]string{"move", "second-nqh8f"}, "annotate pod second-nqh8f -n default --overwrite gpushare/move=any\n", "it is to move"},
		"no dry run": {[]string{"pause", "second-nqh8f", "--dry-run=none"},
			"annotate pod second-nqh8f -n default --overwrite gpushare/paused=true\n", "it is to pause"},
		"move to a node with its type": {[]string{"move", "second-nqh8f", "--to", "node/node-2"},
			"annotate pod second-nqh8f -n default --overwrite gpushare/move=node-2\n", "it is to move"},
		"move to a node": {[]string{"move", "second-nqh8f", "--to", "node-2"},
			"annotate pod second-nqh8f -n default --overwrite gpushare/move=node-2\n", "it is to move"},
		"a dry run": {[]string{"save", "second-nqh8f", "--dry-run"},
			"annotate pod second-nqh8f -n default --overwrite --dry-run=server gpushare/save=2", "nothing has changed"},
		"JSON": {[]string{"pause", "second-nqh8f", "-o", "json", "--dry-run"}, "--dry-run=server gpushare/paused=true",
			`{"namespace":"default","name":"second-nqh8f","command":"pause","annotation":"gpushare/paused","value":"true","dryRun":true}` + "\n"},
		"pause of a pod with its type": {[]string{"pause", "pods/second-nqh8f"},
			"annotate pod second-nqh8f -n default --overwrite gpushare/paused=true\n", "it is to pause"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "running", tc.args...)
			require.Zero(t, got.code, got.err)
			require.Contains(t, got.commands, tc.command)
			require.Contains(t, got.out, tc.want)
		})
	}
}

// A node may be named as "kubectl get nodes -o name" prints it.
func TestPlugin_DrainsANodeWithItsType(t *testing.T) {
	got := run(t, "drained", "drain", "node/node-1", "--wait=false")
	require.Contains(t, got.commands, "cordon node-1\n")
	require.Contains(t, got.commands, "spec.nodeName=node-1 ")
	require.Contains(t, got.commands, "annotate pod alone ")
}

// A job whose annotation says that it is not paused moves.
func TestPlugin_MovesWhatIsNotPaused(t *testing.T) {
	got := run(t, "unheld", "move", "unheld")
	require.Contains(t, got.commands, "annotate pod unheld -n default --overwrite gpushare/move=any\n", got.err)
}

// Commands whose component is not installed change nothing, and say so.
func TestPlugin_RefusesWhatIsNotInstalled(t *testing.T) {
	for name, tc := range map[string]struct {
		folder string
		args   []string
		want   string
	}{
		"a move":              {"still", []string{"move", "second-nqh8f"}, `no job moves in this cluster: the component "moves" is not installed`},
		"a dry run of a move": {"still", []string{"move", "second-nqh8f", "--dry-run"}, "no job moves in this cluster"},
		"a drain":             {"still", []string{"drain", "node-1"}, "no job moves in this cluster"},
		"a save by a signal":  {"signals", []string{"save", "second-nqh8f"}, `the component "signal-saves" is not installed`},
		"a save of a job that cannot": {"nosave", []string{"save", "second-nqh8f"},
			"pod default/second-nqh8f cannot save: its annotation gpushare/checkpoint is none. Nothing has changed"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, tc.folder, tc.args...)
			require.NotZero(t, got.code)
			require.Contains(t, got.err, tc.want)
			require.Empty(t, got.out)
			require.NotContains(t, got.commands, "annotate")
		})
	}
}

func TestPlugin_SavesBySignalWhereInstalled(t *testing.T) {
	got := run(t, "saves", "save", "second-nqh8f")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.commands, "get daemonset coordinator -n trellis")
	require.Contains(t, got.commands, "annotate pod second-nqh8f -n default --overwrite gpushare/save=2")
}

// A user who may not read what is installed can still ask.
func TestPlugin_MovesWhereTheModeCannotBeRead(t *testing.T) {
	got := run(t, "unread", "move", "second-nqh8f", "--trellis-namespace=gpus")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.commands, "get deployment extender -n gpus")
	require.Contains(t, got.err, `whether the component "moves" is installed cannot be read: deployments.apps "extender" is forbidden`)
	require.Contains(t, got.commands, "annotate pod second-nqh8f -n default --overwrite gpushare/move=any\n")
}

func TestPlugin_Help(t *testing.T) {
	got := run(t, "cluster", "--help")
	require.Zero(t, got.code)
	for _, word := range []string{"explain POD", "top", "inspect", "pause POD", "resume POD", "save POD", "move POD", "drain NODE", "--trellis-namespace", "-o, --output json"} {
		require.Contains(t, got.out, word)
	}
	require.Empty(t, got.commands)
}
