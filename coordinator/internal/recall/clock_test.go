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

// A coordinator saves a time and ends. The node's clock is set, or the node reboots. The next coordinator reads the
// time.
func TestClock_TranslatesTimesAcrossReboots(t *testing.T) {
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		// offset is the error of the wall clock when the time was saved.
		offset time.Duration
		// boot replaces the boot ID in the file.
		boot string
		// ago is the age of the saved time for the next coordinator.
		ago time.Duration
	}{
		"nothing happened":           {0, "", 30 * time.Second},
		"the clock was set forward":  {-day, "", 30 * time.Second},
		"the clock was set back":     {day, "", 30 * time.Second},
		"the node was off":           {0, "another", 0},
		"off, and its clock was set": {-day, "another", 0},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			keep(t, folder, node.Memory{At: time.Now().Add(tc.offset - 30*time.Second)})
			edit(t, folder, func(clock map[string]any) {
				clock["set"] = time.Now().Add(tc.offset)
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

// An old coordinator saved no boot clock.
func TestFile_WithoutABootClockTrustsTheWallClock(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "memory.json"), []byte(`{"v":1,"fair":{"at":"2026-01-02T03:04:05Z","accounts":null}}`), 0o600))
	got, err := recall.New(folder, slog.New(slog.DiscardHandler)).Read()
	require.NoError(t, err)
	require.True(t, got.At.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
}

// keep saves a memory as a coordinator that then ends.
func keep(t *testing.T, folder string, m node.Memory) {
	t.Helper()
	file := recall.New(folder, slog.New(slog.DiscardHandler))
	file.Save(m)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, file.Run(ctx))
}

// edit changes the clocks in the file.
func edit(t *testing.T, folder string, change func(clock map[string]any)) {
	t.Helper()
	path := filepath.Join(folder, "memory.json")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var written map[string]any
	require.NoError(t, json.Unmarshal(content, &written))
	clock, _ := written["clock"].(map[string]any)
	require.NotEmpty(t, clock["boot"], "the node has a boot ID")
	change(clock)
	content, err = json.Marshal(written)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, content, 0o600))
}
