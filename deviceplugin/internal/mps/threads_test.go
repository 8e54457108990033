package mps_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/mps"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/mpsthreads"
)

func TestThreads(t *testing.T) {
	record := func(uptime growth.Seconds) string {
		content, err := mpsthreads.Encode(mpsthreads.Record{Uptime: uptime, GPUs: []mpsthreads.GPU{{UUID: "GPU-a", Share: .3}}})
		require.NoError(t, err)
		return string(content)
	}
	for name, tc := range map[string]struct {
		content string
		gpu     growth.GPU
		holders int
		want    int
	}{
		"by the coordinator's policy":            {record(100), "GPU-a", 1, 60},
		"a GPU without jobs":                     {record(100), "GPU-b", 0, 100},
		"no record: an equal part":               {"", "GPU-a", 3, 50},
		"no record, alone":                       {"", "GPU-a", 0, 100},
		"a record of a coordinator that is gone": {record(10), "GPU-a", 2, 67},
		"an invalid record":                      {"{", "GPU-a", 2, 67},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.content != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, mpsthreads.FileName), []byte(tc.content), 0o600))
			}
			threads := mps.Threads{
				StateDir: dir,
				Uptime:   func() growth.Seconds { return 105 },
				Holders:  func(growth.GPU) []growth.PodRef { return make([]growth.PodRef, tc.holders) },
				Log:      slog.New(slog.DiscardHandler),
			}
			require.Equal(t, tc.want, threads.Percent(tc.gpu))
		})
	}
}
