package plugin_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The plugin finds out which jobs move as the extender does: by its last argument, else by its last variable, else by its last ConfigMap.
func TestPlugin_KnowsWhichJobsMove(t *testing.T) {
	const refused = `no job moves in this cluster: the component "moves" is not installed`
	for name, tc := range map[string]struct {
		deployment string
		configMaps []string // in the order in which they are read
		moves      bool
	}{
		"nothing":                               {"A\t--listen=:1\n", nil, false},
		"an argument":                           {"A\t--moves=automatic\n", nil, true},
		"an argument that is off":               {"A\t--moves=off\n", nil, false},
		"the last argument":                     {"A\t--moves=automatic\nA\t--moves=off\n", nil, false},
		"an argument without a value":           {"A\t--moves\n", nil, true},
		"an argument without a value, at last":  {"A\t--moves=off\nA\t--moves\n", nil, true},
		"an argument without a value, at first": {"A\t--moves\nA\t--moves=off\n", nil, false},
		"an argument and a variable":            {"A\t--moves=off\nE\tTRELLIS_MOVES=true\n", nil, false},
		"a variable":                            {"E\tTRELLIS_MOVES=requested\n", nil, true},
		"the last variable":                     {"E\tTRELLIS_MOVES=true\nE\tTRELLIS_MOVES=off\n", nil, false},
		"a variable and a ConfigMap":            {"E\tTRELLIS_MOVES=true\nC\tonly\n", []string{"off"}, true},
		"a ConfigMap":                           {"C\tonly\n", []string{"true"}, true},
		"the last ConfigMap":                    {"C\tfirst\nC\tlast\n", []string{"off", "true"}, false},
		"the last ConfigMap that has it":        {"C\tfirst\nC\tmiddle\nC\tlast\n", []string{"", "true", "off"}, true},
		"ConfigMaps without it":                 {"C\tfirst\nC\tlast\n", []string{"", ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			pod, err := os.ReadFile("testdata/running/pod")
			require.NoError(t, err)
			files := map[string]string{"deployment": tc.deployment, "pod": string(pod), "annotate": ""}
			for i, value := range tc.configMaps {
				files[[]string{"configmap", "configmap.2", "configmap.3"}[i]] = value
			}
			for file, text := range files {
				require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600))
			}
			got := run(t, folder, "move", "second-nqh8f")
			if tc.moves {
				require.Zero(t, got.code, got.err)
				require.Empty(t, got.err)
				require.Contains(t, got.commands, "annotate pod second-nqh8f")
				return
			}
			require.NotZero(t, got.code)
			require.Contains(t, got.err, refused)
			require.NotContains(t, got.commands, "annotate")
		})
	}
}

// The last ConfigMap is read first, and earlier ones only if it does not have the variable.
func TestPlugin_ReadsTheLastConfigMapFirst(t *testing.T) {
	got := run(t, "maps", "move", "second-nqh8f")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `(?s)get configmap last -n trellis .*get configmap middle -n trellis `, got.commands)
	require.NotContains(t, got.commands, "get configmap first")
}
