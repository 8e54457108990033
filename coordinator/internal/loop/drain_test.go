package loop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// A job that saves when its pod is deleted may end before its socket is read again.
func TestLoop_ReceivesTheLastMessagesOfAPod(t *testing.T) {
	end := func(h *harness, running bool) {
		pod, _ := h.pod(ref("a").UID)
		pod.Running = running
		pod.Deadline = time.Now().Add(20 * time.Second)
		pod.Containers[0].Ended = true
		h.apply(pod)
	}
	for name, tc := range map[string]struct {
		ends   func(h *harness)
		events int
	}{
		"its container has ended": {func(h *harness) { end(h, true) }, 0},
		"it has ended":            {func(h *harness) { end(h, false); h.remove("a") }, 1},
		"it is gone":              {func(h *harness) { h.remove("a") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, policy.Harmless, func(t *testing.T, h *harness) {
				h.arrive("a")
				h.advance(time.Second)
				h.mu.Lock()
				h.unread["slot-a"] = []wire.Message{wire.Saved{Path: "/ckpt/a.pt", SHA256: strings.Repeat("0f", 32), Step: 7}}
				h.mu.Unlock()
				tc.ends(h)
				h.advance(time.Second)
				require.Equal(t, tc.events, h.countEvents("a Saved: The job saved a checkpoint of step 7 in /ckpt/a.pt"))
				h.mu.Lock()
				defer h.mu.Unlock()
				require.Contains(t, h.urgent, "a", "its checkpoint is recorded")
			})
		})
	}
}
