package loop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Four ranks print their steps into one log, in blocks as their buffers are flushed.
func TestLogs_RanksOfOneLogAreOneJob(t *testing.T) {
	for name, tc := range map[string]struct {
		format string
		ranked bool
	}{
		"with ranks": {"[rank%d] step %d loss %.4f", true},
		"torchrun":   {"[default%d]:step %d loss %.4f", true},
		"without":    {"step %[2]d loss %.4[3]f", false},
	} {
		t.Run(name, func(t *testing.T) {
			withLogs(t, func(t *testing.T, h *harness, disk logDisk) {
				h.arrive("a", gpushare.ProgressAnnotation+`=log:step (?P<step>\d+) loss ([0-9.]+)`)
				const block = 20
				for at := 0; at < 100; at += block {
					for rank := range 4 {
						for step := at + 1; step <= at+block; step++ {
							disk.write("a", cri("F", fmt.Sprintf(tc.format, rank, step, 2-float64(step)/100)))
						}
						h.advance(time.Second)
					}
					h.advance(interval)
					require.Equal(t, int64(at+block), h.sample("a").Step)
				}
				require.Zero(t, h.countEvents("JobRestarted"))
				require.InDelta(t, 1, h.sample("a").Value, 1e-9)
			})
		})
	}
}
