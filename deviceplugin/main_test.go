package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon"
	"github.com/trellis-gpu/trellis/daemon/programtest"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/config"
)

func TestHelp(t *testing.T) { programtest.Help(t, program(&config.Config{}), "testdata/help.txt") }

func TestDryRun(t *testing.T) {
	c := &config.Config{}
	args := []string{"--node-name=n1", "--gpus=emulated:2x24GiB", "--dry-run", "--state-dir=" + t.TempDir()}
	require.NoError(t, daemon.Parse(c, args, func(string) string { return "" }))
	var out bytes.Buffer
	require.NoError(t, dryRun(t.Context(), c, &out, slog.New(slog.DiscardHandler)))
	require.Contains(t, out.String(), "gpushare/gpu-mem: 48 of 1GiB each on 2 GPUs, emulated")
	require.Equal(t, 3, strings.Count(out.String(), "\n"))

	out.Reset()
	c.Output = config.OutputJSON
	require.NoError(t, dryRun(t.Context(), c, &out, slog.New(slog.DiscardHandler)))
	var read map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &read))
	require.Equal(t, 48.0, read["units"])
	require.Equal(t, true, read["emulated"])
	first := read["gpus"].([]any)[0].(map[string]any)
	require.Equal(t, first["uuid"].(string)+"/23", first["lastID"])
	require.Equal(t, "2", read["labels"].(map[string]any)["gpushare/gpu-count"])
}
