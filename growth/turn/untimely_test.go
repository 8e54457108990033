package turn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// A job answers only at the end of the timeout, and computes again at once, without its turn. The others have at least the
// time that they would have under plain sharing.
func TestScheduler_AJobThatNeverWaitsForItsTurn(t *testing.T) {
	for name, again := range map[string][]turn.Event{
		"it says that it computes": {turn.Waits{Job: "cheat"}, turn.Opened{Job: "cheat"}},
		"it connects again":        {turn.Left{Job: "cheat"}, turn.Opened{Job: "cheat"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, one("cheat", .3), one("b", .3), one("c", .3))
			answers := map[growth.PodUID]time.Duration{}
			wake := time.Time{}
			step := func(e turn.Event) {
				effects := p.step(e)
				wake = effects.Wake
				for _, id := range effects.Revoke {
					answers[id] = p.at + 5*time.Millisecond
					if id == "cheat" {
						answers[id] = p.at + turn.Default.Timeout - time.Millisecond
					}
				}
			}
			for _, id := range ids("b", "c", "cheat") {
				step(turn.Waits{Job: id})
			}
			for p.at < 5*time.Minute {
				first, at := growth.PodUID(""), 10*time.Minute
				if !wake.IsZero() {
					at = wake.Sub(start)
				}
				for id, answer := range answers {
					if answer < at {
						first, at = id, answer
					}
				}
				p.at = at
				delete(answers, first)
				switch first {
				case "":
					step(turn.Woken{})
				case "cheat":
					for _, e := range again {
						step(e)
					}
				default:
					step(turn.Waits{Job: first})
				}
			}
			use := p.s.Use(start.Add(p.at))
			require.Greater(t, use["b"].Held+use["c"].Held, 200*time.Second, "%v", use)
		})
	}
}
