package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

func TestReadReports(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)
	got, err := readReports(strings.NewReader(`2026-01-02T03:04:05.6Z training vae at step 0
2026-01-02T03:04:05.6Z step=20 loss=143.3686
2026-01-02T03:04:05.6Z step=40 loss=1.5 accuracy=0.43
yesterday step=60 loss=1
2026-01-02T03:04:05.6Z step=80 loss=much
2026-01-02T03:04:05.6Z step=99999999999999999999 loss=1

2026-01-02T03:04:05.6Z step=100 lo`))
	require.NoError(t, err)
	require.Equal(t, []timeline.Report{{At: at, Step: 20, Value: 143.3686}, {At: at, Step: 40, Value: 1.5}}, got)

	_, err = readReports(strings.NewReader(strings.Repeat("x", 1<<20)))
	require.ErrorContains(t, err, "too long")
}
