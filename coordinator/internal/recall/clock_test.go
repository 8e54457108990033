package recall_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/recall"
	"github.com/trellis-gpu/trellis/growth/node"
)

// A coordinator notes a time and ends; the node's clock is set, or the node starts anew; the next coordinator reads.
func TestHowLongAgoItWas(t *testing.T) {
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		// was is how far the clock that is set went wrong, at the time of the note; boot what the file is made to say.
		was  time.Duration
		boot string
		// ago is how long ago the note is to seem.
		ago time.Duration
	}{
		"nothing happened":             {0, "", 30 * time.Second},
		"the clock was set forward":    {-day, "", 30 * time.Second},
		"the clock was set back":       {day, "", 30 * time.Second},
		"the node was off":             {0, "another", 0},
		"off, and its clock set since": {-day, "another", 0},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			keep(t, folder, node.Memory{At: time.Now().Add(tc.was - 30*time.Second)})
			edit(t, folder, func(clock map[string]any) {
				clock["set"] = time.Now().Add(tc.was)
				if tc.boot != "" {
					clock["boot"] = tc.boot
				}
			})
			got, err := recall.New(folder, slog.New(slog.DiscardHandler)).Read()
			require.NoError(t, err)
			require.WithinDuration(t, time.Now().Add(-tc.ago), got.At, 5*time.Second)
		})
	}
}

// A file of a coordinator that did not note the other clock is believed.
func TestFile_WithoutABootClockTrustsTheWallClock(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "memory.json"), []byte(`{"v":1,"fair":{"at":"2026-01-02T03:04:05Z","accounts":null}}`), 0o600))
	got, err := recall.New(folder, slog.New(slog.DiscardHandler)).Read()
	require.NoError(t, err)
	require.True(t, got.At.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
}

// keep has a coordinator keep a memory and end.
func keep(t *testing.T, folder string, m node.Memory) {
	t.Helper()
	file := recall.New(folder, slog.New(slog.DiscardHandler))
	file.Save(m)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, file.Run(ctx))
}

// edit changes what the file says of the clocks.
func edit(t *testing.T, folder string, change func(clock map[string]any)) {
	t.Helper()
	path := filepath.Join(folder, "memory.json")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var written map[string]any
	require.NoError(t, json.Unmarshal(content, &written))
	clock, _ := written["clock"].(map[string]any)
	require.NotEmpty(t, clock["boot"], "the node says which start this is")
	change(clock)
	content, err = json.Marshal(written)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, content, 0o600))
}
