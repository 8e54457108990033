package recall_test

import (
	"context"
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
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/resize"
)

func TestWhatIsKeptIsRecalled(t *testing.T) {
	folder := t.TempDir()
	none, err := recall.New(folder, slog.New(slog.DiscardHandler)).Read()
	require.NoError(t, err)
	require.Zero(t, none)

	file := recall.New(folder, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	want := recall.Memory{
		Samples: []bus.Sample{{Pod: growth.PodRef{UID: "a"}, Step: 7, Category: growth.Watching}},
		Fair: fairfinish.State{At: time.Unix(1_700_000_000, 0).UTC(), Accounts: map[growth.PodUID]fairfinish.Account{
			"a": {Age: 90, FairWork: 3, RealWork: 4, Remaining: remaining.Exact(9), Weight: 1, Limit: 2},
		}},
		Refusals: map[growth.PodUID]resize.Refusal{"a": {Requested: 750, InForce: 500, At: time.Unix(1_700_000_000, 0).UTC(), Times: 3}},
		Ended: []recall.Run{{
			Job: "ns/b", Runs: "train", Curve: remaining.Curve{Points: []remaining.Point{{Step: 3, Value: 2, Reports: 2}}},
			Whole: remaining.Profile{Numbers: []string{"90", "1e-3"}, Total: 90, StartupCost: 4, StepCost: 2},
		}},
	}
	file.Keep(recall.Memory{})
	file.Keep(want)
	cancel()
	go func() { done <- file.Run(ctx) }()
	require.NoError(t, <-done, "the last word is written even as it ends")

	got, err := recall.New(folder, slog.New(slog.DiscardHandler)).Read()
	require.NoError(t, err)
	require.WithinDuration(t, want.Fair.At, got.Fair.At, time.Second)
	want.Samples[0].Version, want.Fair.At = bus.Version, got.Fair.At
	require.Equal(t, want, got)
}

func TestWhatCanNotBeReadIsNotBelieved(t *testing.T) {
	for name, content := range map[string]string{
		"cut short":       `{"v":1,"samples":[`,
		"another version": `{"v":2}`,
		"not ours":        "hello",
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
	require.NoError(t, os.WriteFile(filepath.Join(folder, "memory.json"), []byte(`{"v":1,"samples":[{"v":9},{"v":1,"step":3}]}`), 0o600))
	got, err := recall.New(folder, slog.New(slog.DiscardHandler)).Read()
	require.NoError(t, err)
	require.Len(t, got.Samples, 1, "a sample of a newer build is left out")
}
