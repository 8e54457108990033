package web_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inNode runs a script with the page's search in Node.js, and decodes what the script's last expression is.
func inNode(t *testing.T, script string, result any) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: node is not installed")
	}
	search, err := os.ReadFile("page/search.js")
	require.NoError(t, err)
	command := exec.Command(node, "--input-type=commonjs", "--eval", string(search)+"\nconsole.log(JSON.stringify((() => {"+script+"})()))")
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	require.NoError(t, err, stderr.String())
	require.NoError(t, json.Unmarshal(out, result))
}

// searchedCluster is a state with a job of one pod, a job of two, and an idle node.
const searchedCluster = `
	const sample = (namespace, name, node, gpus, more) => ({ pod: { namespace, name }, node, gpus, ...more });
	const two = [sample("vision", "gang-0", "node-2", ["GPU-b"]), sample("vision", "gang-1", "node-3", ["GPU-c"])];
	const state = {
		nodes: ["node-1", "node-2", "node-3", "node-4"].map(node => ({ node })),
		jobs: [
			{ sample: sample("nlp", "bert", "node-1", ["GPU-a"], { category: "Converged", deadline: { status: "at risk" } }) },
			{ sample: two[0], pods: two },
			{ sample: two[1], partOf: "gang" },
		],
	};
`

func TestSearch(t *testing.T) {
	for text, want := range map[string]struct{ jobs, nodes string }{
		"":             {"bert gang-0", "node-1 node-2 node-3 node-4"},
		"  ":           {"bert gang-0", "node-1 node-2 node-3 node-4"},
		"BERT":         {"bert", "node-1"},
		"nlp/b":        {"bert", "node-1"},
		"gang-1":       {"gang-0", "node-2 node-3"},
		"node-3":       {"gang-0", "node-2 node-3"},
		"node-4":       {"", "node-4"},
		"gpu-a":        {"bert", "node-1"},
		"at risk":      {"bert", "node-1"},
		"converged":    {"bert", "node-1"},
		"bert gang":    {"", ""},
		"nlp/bert[.*]": {"", ""},
	} {
		t.Run(text, func(t *testing.T) {
			quoted, err := json.Marshal(text)
			require.NoError(t, err)
			var found struct{ Jobs, Nodes string }
			inNode(t, searchedCluster+`
				const found = find(state, `+string(quoted)+`);
				return { jobs: found.jobs.map(job => job.sample.pod.name).join(" "), nodes: found.nodes.map(node => node.node).join(" ") };
			`, &found)
			require.Equal(t, want, struct{ jobs, nodes string }{found.Jobs, found.Nodes})
		})
	}
}

// TestSearch_ShowsTheFirstOfMany: a browser that lays out a thousand jobs twice a second does nothing else.
func TestSearch_ShowsTheFirstOfMany(t *testing.T) {
	var found struct{ Jobs, Nodes, FoundJobs, FoundNodes, AllJobs, AllNodes int }
	inNode(t, `
		const nodes = Array.from({ length: 300 }, (_, i) => ({ node: "node-" + i }));
		const jobs = Array.from({ length: 1000 }, (_, i) => ({ sample: { pod: { namespace: "many", name: "job-" + i }, node: "node-" + i % 300 } }));
		const found = find({ nodes, jobs }, "job-1");
		return { ...found, jobs: found.jobs.length, nodes: found.nodes.length };
	`, &found)
	require.Equal(t, 111, found.FoundJobs)
	require.Equal(t, 111, found.Jobs)
	require.Equal(t, 60, found.Nodes)
	require.Equal(t, 111, found.FoundNodes)
	require.Equal(t, 1000, found.AllJobs)
	require.Equal(t, 300, found.AllNodes)
}
