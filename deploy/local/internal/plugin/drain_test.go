package plugin_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A node is cordoned first. Then each job that can move is asked to, all of its pods with one command.
func TestPlugin_DrainsNodes(t *testing.T) {
	asks := func(dry string) string {
		return "cordon node-1" + dry + "\n" +
			"annotate pod bert-0 bert-1 -n default --overwrite" + dry + " gpushare/move=any\n" +
			"annotate pod alone -n default --overwrite" + dry + " gpushare/move=any\n" +
			"annotate pod slow -n default --overwrite" + dry + " gpushare/move=any\n"
	}
	const fixed = "pod default/t-0: it stays: pod default/t-1 of its job stays\n" +
		"pod default/t-1: it stays: it is paused (gpushare/paused)\n" +
		"pod default/fixed: it stays: it cannot save (gpushare/checkpoint is none)\n"
	for name, tc := range map[string]struct {
		folder         string
		args           []string
		code           int
		commands, want string
	}{
		"until all have left or stay": {"drained", nil, 1, asks("") + "sleep 2\n", fixed +
			"pod default/bert-0: it has left the node\n" +
			"pod default/bert-1: it has left the node\n" +
			"pod default/alone: it has left the node\n" +
			"pod default/slow: it stays: The move of the job to another one has ended early: it did not save: disk \"full\"\n" +
			"node node-1: 3 pods have left it, 4 stay. It takes no pods until: kubectl uncordon node-1\n"},
		"without waiting": {"drained", []string{"--wait=false"}, 1, asks(""), fixed},
		"a dry run":       {"drained", []string{"--dry-run"}, 1, asks(" --dry-run=server"), fixed},
		"JSON": {"drained", []string{"-o", "json"}, 1, asks("") + "sleep 2\n",
			`{"namespace":"default","name":"slow","outcome":"stays","reason":"The move of the job to another one has ended early: it did not save: disk full"}` + "\n"},
		"while pods move": {"emptied", nil, 0,
			"annotate pod other -n team --overwrite gpushare/move=any\nsleep 2\nsleep 2\n",
			"pod team/other: it has left the node\n" +
				"pod default/alone: it has left the node\n" +
				"node node-1: 2 pods have left it, 0 stay. It takes no pods until: kubectl uncordon node-1\n"},
		"a pod vanishes before it is asked": {"vanishing", nil, 0,
			"annotate pod bert-0 bert-1 -n default --overwrite gpushare/move=any\n" +
				"annotate pod alone -n default --overwrite gpushare/move=any\nsleep 2\n",
			"pod default/bert-0: it has left the node\n" +
				"pod default/bert-1: it has left the node\n" +
				"pod default/alone: it has left the node\n" +
				"node node-1: 3 pods have left it, 0 stay. It takes no pods until: kubectl uncordon node-1\n"},
		"a request fails": {"refusing", nil, 1,
			"annotate pod bert-0 bert-1 -n default --overwrite gpushare/move=any\n" +
				"annotate pod alone -n default --overwrite gpushare/move=any\nsleep 2\n",
			forbidden("bert-0") + forbidden("bert-1") + "pod default/alone: it has left the node\n" +
				"node node-1: 1 pods have left it, 2 stay. It takes no pods until: kubectl uncordon node-1\n"},
		"a request fails, and then the list of pods": {"unlisted", []string{"--wait=false"}, 1,
			"annotate pod alone -n default --overwrite gpushare/move=any\n", forbidden("bert-0") + forbidden("bert-1")},
		"a node without jobs": {"vacant", nil, 0, "cordon node-1\n",
			"node node-1: 0 pods have left it, 0 stay. It takes no pods until: kubectl uncordon node-1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, tc.folder, append([]string{"drain", "node-1"}, tc.args...)...)
			require.Equal(t, tc.code, got.code, got.err)
			require.True(t, strings.HasSuffix(got.out, tc.want), got.out)
			require.Contains(t, changes(got.commands), tc.commands)
		})
	}
}

// forbidden says why a pod stays that could not be asked to move.
func forbidden(pod string) string {
	return "pod default/" + pod + `: it stays: pods "bert-0" is forbidden: User "dev" cannot patch resource "pods"` + "\n"
}

// A drain that takes too long fails, and says how many pods are left.
func TestPlugin_DrainsNodesForALimitedTime(t *testing.T) {
	got := run(t, "emptied", "drain", "node-1", "--timeout", "0")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "2 pods of node node-1 have not left it after 0 seconds")
}

// changes returns the commands that do not only read.
func changes(commands string) string {
	var kept []string
	for line := range strings.Lines(commands) {
		if !strings.HasPrefix(line, "get ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
