package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// Three jobs with shares of 60 %, 30 % and 10 % of one second share a GPU. A job on another GPU is not in their order.
func TestOrder_ShowsWhoHoldsAndWhoIsNext(t *testing.T) {
	s := turn.New(turn.Default)
	at := time.Unix(0, 0)
	gpu := []growth.GPU{"GPU-0"}
	s.Step(at, turn.Planned{Jobs: []turn.Job{
		{ID: "a", GPUs: gpu, Share: .6}, {ID: "b", GPUs: gpu, Share: .3}, {ID: "c", GPUs: gpu, Share: .1},
		{ID: "new", GPUs: gpu, Share: .1}, {ID: "elsewhere", GPUs: []growth.GPU{"GPU-1"}, Share: 1},
	}})
	for _, id := range []growth.PodUID{"a", "b", "c", "elsewhere"} {
		s.Step(at, turn.Waits{Job: id})
	}
	show := func(after time.Duration) string {
		var text strings.Builder
		for _, o := range s.Order(at.Add(after), "b") {
			fmt.Fprintf(&text, "%s %s %d quantum %s left %s behind %s\n", o.Job, o.State, o.Position,
				o.Quantum.Round(time.Millisecond), o.Left.Round(time.Millisecond), o.Behind.Round(time.Millisecond))
		}
		return text.String()
	}
	require.Equal(t, `a holding 0 quantum 600ms left 800ms behind -80ms
b waiting 1 quantum 300ms left 0s behind 60ms
c waiting 2 quantum 100ms left 0s behind 20ms
new absent 0 quantum 0s left 0s behind 0s
`, show(200*time.Millisecond))

	s.Step(at.Add(time.Second), turn.Woken{}) // a was alone when its quantum began
	require.Equal(t, `a stopping 0 quantum 600ms left 0s behind -400ms
b waiting 1 quantum 300ms left 0s behind 300ms
c waiting 2 quantum 100ms left 0s behind 100ms
new absent 0 quantum 0s left 0s behind 0s
`, show(time.Second))
	require.Empty(t, s.Order(at, "unknown"))
}
