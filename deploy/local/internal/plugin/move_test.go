package plugin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// All pods of a job move or none does. A dry run shows what each of them would do.
func TestPlugin_MovesJobs(t *testing.T) {
	for name, tc := range map[string]struct {
		args     []string
		commands []string
		out      string
	}{
		"a pod": {
			args:     []string{"move", "ddp-0-7xk2p", "--to", "node-3", "--dry-run"},
			commands: []string{"annotate pod ddp-0-7xk2p -n default --overwrite --dry-run=server gpushare/move=node-3\n"},
			out: "ddp-0-7xk2p  node-1  node-3\n" +
				"ddp-1-q9r4z  node-2  node-2, where it starts again\n",
		},
		"a job": {
			args: []string{"move", "job/ddp", "--dry-run"},
			commands: []string{
				"get pods --field-selector status.phase=Running",
				"annotate pod ddp-0-7xk2p ddp-1-q9r4z -n default --overwrite --dry-run=server gpushare/move=any\n",
				"get pods -n default ",
			},
			out: "ddp-0-7xk2p  node-1  another node\n" +
				"ddp-1-q9r4z  node-2  another node\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "gang", tc.args...)
			require.Zero(t, got.code, got.err)
			require.Contains(t, got.out, "All pods of Job/ddp that are one job save at one step, and then move together, or none does:")
			require.True(t, strings.HasSuffix(got.out, tc.out), got.out)
			for _, command := range tc.commands {
				require.Contains(t, got.commands, command)
			}
			require.NotContains(t, got.commands, "other-0")
		})
	}
}

// A dry run says which nodes have room for the job now, and fails if it would not be moved.
func TestPlugin_ShowsWhereAJobWouldMove(t *testing.T) {
	for name, tc := range map[string]struct {
		folder string
		args   []string
		code   int
		want   string
	}{
		"anywhere": {"roomy", []string{"big"}, 0,
			"big  node-1  node-2 (the only other node with room now)\n"},
		"nodes with room": {"roomier", []string{"big"}, 0,
			"big  node-1  another node (with room now: node-2, node-3)\n"},
		"no other node with room": {"crowded", []string{"big"}, 0,
			"big  node-1  another node, but none has room for it now\n"},
		"a node with room": {"roomy", []string{"big", "--to", "node-2"}, 0,
			"big  node-1  node-2\n"},
		"a node without room on any GPU": {"roomy", []string{"big", "--to", "node-3"}, 1,
			"big  node-1  node-1: node node-3 has no room for it now\n"},
		"a cordoned node": {"roomy", []string{"big", "--to", "node-4"}, 1,
			"big  node-1  node-1: node node-4 is cordoned\n"},
		"a node with a cordoned GPU": {"roomy", []string{"big", "--to", "node-5"}, 1,
			"big  node-1  node-1: node node-5 has no room for it now\n"},
		"an unknown node": {"roomy", []string{"big", "--to", "node-9"}, 1,
			"big  node-1  node-1: node node-9 offers no GPU memory\n"},
		"pods of a job to the node of one of them": {"gathered", []string{"job/ddp", "--to", "node-2"}, 0,
			"ddp-0  node-1  node-2\nddp-1  node-2  node-2, where it starts again\n"},
		"a pod that is on the node, which is cordoned": {"gathered", []string{"job/half", "--to", "node-4"}, 1,
			"half-0  node-4  another node (with room now: node-1, node-2, node-3)\nhalf-1  node-1  node-1: node node-4 is cordoned\n"},
		"two pods that fit the node one at a time": {"tight", []string{"job/ddp", "--to", "node-3"}, 1,
			"ddp-0  node-1  node-3\nddp-1  node-2  node-2: node node-3 has no room for it now\n"},
		"two pods that fit the node together": {"tight", []string{"job/ddp", "--to", "node-4"}, 0,
			"ddp-0  node-1  node-4\nddp-1  node-2  node-4\n"},
		"two pods of two GPUs, and one node with room": {"tight", []string{"job/wide"}, 0,
			"wide-0  node-5  node-4 (the only other node with room now)\nwide-1  node-6  another node, but none has room for it now\n"},
		"a pod of a Deployment with several": {"replicas", []string{"web-a"}, 1, "(dry run, nothing has changed)\n" +
			refusal("ReplicaSet web", "web-b")},
		"a Deployment of which one pod runs": {"replicas", []string{"replicaset/once"}, 0,
			"once-a  node-1  node-2 (the only other node with room now)\n"},
		"a StatefulSet with several pods": {"replicas", []string{"statefulset/db"}, 1, refusal("StatefulSet db", "db-1")},
		"pods that are not one job":       {"replicas", []string{"job/apart"}, 1, refusal("Job apart", "apart-1")},
		"a pod that is a gang by itself":  {"replicas", []string{"gang/single"}, 1, refusal("Job single", "single-1")},
		"a Deployment whose pods are a gang": {"replicas", []string{"gang/duo"}, 0,
			"duo-b  node-1  node-2 (the only other node with room now)\n"},
		"another pod of the job is paused": {"halfheld", []string{"ddp-0"}, 1,
			"ddp-0  node-1  another node\nddp-1  node-2  node-2: it is paused (gpushare/paused)\n" +
				"The job is not moved, because all of its pods move or none does.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, tc.folder, append([]string{"move", "--dry-run"}, tc.args...)...)
			require.Equal(t, tc.code, got.code, got.err)
			require.True(t, strings.HasSuffix(got.out, tc.want), got.out)
			require.NotContains(t, got.commands, "--overwrite gpushare/")
			asJSON := run(t, tc.folder, append([]string{"move", "--dry-run", "-o", "json"}, tc.args...)...)
			require.Equal(t, tc.code, asJSON.code, asJSON.err)
			for line := range strings.Lines(asJSON.out) {
				require.True(t, json.Valid([]byte(line)), line)
			}
			if tc.code != 0 {
				lines := strings.Split(strings.TrimSpace(tc.want), "\n")
				require.Contains(t, asJSON.err, lines[len(lines)-1])
			}
		})
	}
}

// refusal is what the extender answers to a request to move one of several pods that nothing says to be one job.
func refusal(controller, other string) string {
	return "The job is not moved, because its " + controller + " has other pods, such as " + other +
		", and nothing says that they are one job: see the annotation gpushare/gang\n"
}
