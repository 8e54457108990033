package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var fine = []string{"--node-name=n1", "--gpus=emulated:2x24GiB", "--etcd-endpoints=http://e:2379"}

func TestEveryFlagHasATwin(t *testing.T) {
	t.Setenv("NODE_NAME", "from-env")
	t.Setenv("TRELLIS_GPUS", "emulated:1x8Gi")
	t.Setenv("TRELLIS_MEMORY_UNIT", "512Mi")
	t.Setenv("TRELLIS_ETCD_ENDPOINTS", "http://e:2379")
	c, err := parse([]string{"--memory-unit=2Gi"})
	require.NoError(t, err)
	require.NoError(t, c.Validate())
	require.Equal(t, "from-env", c.node)
	require.Equal(t, "emulated:1x8Gi", c.gpus)
	require.Equal(t, "2Gi", c.memoryUnit, "the flag wins")
}

func TestNonsenseIsNamed(t *testing.T) {
	for flag, words := range map[string]string{
		"--node-name=":         "--node-name",
		"--gpus=cuda":          "--gpus",
		"--gpus=emulated:lots": "--gpus",
		"--memory-unit=0":      "--memory-unit",
		"--resource=gpu":       "--resource",
		"--plugin-dir=here":    "--plugin-dir",
		"--log-level=loud":     "--log-level",
		"--etcd-ca=ca.crt":     "TLS",
		"--delivery=post":      "neither env nor cdi",
		"--sharing=mps":        "emulated GPUs have no MPS",
		"--on-excess=kill":     "neither warn nor evict",
		"--output=xml":         "neither text nor json",
		"--xid-policy=79=x":    "--xid-policy",
		"--excess-slack=much":  "--excess-slack",
		"--recover-after=-1s":  "--recover-after",
		"--proc=proc":          "--proc",
	} {
		c, err := parse(append(append([]string{}, fine...), flag))
		require.NoError(t, err)
		require.ErrorContains(t, c.Validate(), words, flag)
	}
	_, err := parse([]string{"stray"})
	require.ErrorContains(t, err, "stray")
}

func TestDryRunSaysWhatWouldBeAdvertised(t *testing.T) {
	c, err := parse([]string{"--node-name=n1", "--gpus=emulated:2x24GiB", "--dry-run"})
	require.NoError(t, err)
	require.NoError(t, c.Validate(), "needs no bus")
	stock, err := inventory(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer stock.close()
	var out bytes.Buffer
	require.NoError(t, stock.advertisement().print(&out, "text"))
	require.Contains(t, out.String(), "gpushare/gpu-mem: 48 of 1GiB each on 2 GPUs, emulated")
	require.Equal(t, 3, strings.Count(out.String(), "\n"))

	out.Reset()
	require.NoError(t, stock.advertisement().print(&out, "json"))
	var read map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &read))
	require.Equal(t, 48.0, read["units"])
	require.Equal(t, true, read["emulated"])
	first := read["gpus"].([]any)[0].(map[string]any)
	require.Equal(t, first["uuid"].(string)+"/23", first["lastID"])
	require.Equal(t, "2", read["labels"].(map[string]any)["gpushare/gpu-count"])
}
