package recall_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/recall"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestFile_ReadsWhatItSaved(t *testing.T) {
	folder := t.TempDir()
	none, err := recall.New(folder, slog.New(slog.DiscardHandler)).Read()
	require.NoError(t, err)
	require.Zero(t, none)

	file := recall.New(folder, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	want := node.Memory{
		At:      time.Unix(1_700_000_000, 0).UTC(),
		Samples: []bus.Sample{{Pod: growth.PodRef{UID: "a"}, Step: 7, Category: growth.Watching, State: json.RawMessage(`{"v":1}`)}},
		State:   json.RawMessage(`{"v":1,"ended":[]}`),
	}
	file.Save(node.Memory{})
	file.Save(want)
	cancel()
	go func() { done <- file.Run(ctx) }()
	require.NoError(t, <-done, "the newest memory is written at the end")

	got, err := recall.New(folder, slog.New(slog.DiscardHandler)).Read()
	require.NoError(t, err)
	require.WithinDuration(t, want.At, got.At, time.Second)
	want.Samples[0].Version, want.At = bus.Version, got.At
	require.Equal(t, want, got)
}

// testdata/memory-v1.json was written by the previous release, with two jobs, one refused resize and one ended run.
func TestFile_ReadsTheFileOfThePreviousRelease(t *testing.T) {
	folder := t.TempDir()
	content, err := os.ReadFile(filepath.Join("testdata", "memory-v1.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "memory.json"), content, 0o600))
	got, err := recall.New(folder, slog.New(slog.DiscardHandler)).Read()
	require.NoError(t, err)
	require.Len(t, got.Samples, 2)
	require.False(t, got.At.IsZero())

	n := node.New(node.Config{Policy: policy.Harmless, Interval: 10 * time.Second, Alpha: .05, Beta: 2})
	require.Empty(t, n.Step(got.At, node.MemoryRestored{Memory: got}).Log, "nothing is lost")
	for _, s := range got.Samples {
		effects := n.Step(got.At, node.PodUpdated{Pod: node.Pod{
			Ref:         s.Pod,
			Running:     true,
			Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.TuneAnnotation: "cpu,loaders,batch-size"},
			Containers:  []node.Container{{Name: "train", Request: 500}},
		}})
		require.Len(t, effects.Log, 1, "%v", effects.Log)
	}
	again, err := n.Memory()
	require.NoError(t, err)
	var was, is struct {
		Fair     json.RawMessage
		Refusals json.RawMessage
		Ended    json.RawMessage
	}
	require.NoError(t, json.Unmarshal(content, &was))
	require.NoError(t, json.Unmarshal(again.State, &is))
	require.JSONEq(t, string(was.Refusals), strings.ReplaceAll(string(is.Refusals), `,"stirred":true`, ""))
	require.JSONEq(t, string(was.Ended), string(is.Ended))
	accounts := func(raw json.RawMessage) string {
		var state struct{ Accounts json.RawMessage }
		require.NoError(t, json.Unmarshal(raw, &state))
		return string(state.Accounts)
	}
	require.JSONEq(t, accounts(was.Fair), accounts(is.Fair))
}

func TestFile_RejectsWhatItCannotRead(t *testing.T) {
	for name, content := range map[string]string{
		"cut short":       `{"v":1,"samples":[`,
		"another version": `{"v":3}`,
		"not JSON":        "hello",
		"empty":           "",
		"far too long":    `{"v":1,"x":"` + strings.Repeat("x", 9<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(folder, "memory.json"), []byte(content), 0o600))
			got, err := recall.New(folder, slog.New(slog.DiscardHandler)).Read()
			require.ErrorContains(t, err, "recalling what was known")
			require.Zero(t, got)
		})
	}
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "memory.json"), []byte(`{"v":2,"samples":[{"v":9},{"v":1,"step":3}]}`), 0o600))
	got, err := recall.New(folder, slog.New(slog.DiscardHandler)).Read()
	require.NoError(t, err)
	require.Len(t, got.Samples, 1, "a sample of a newer build is left out")
}
