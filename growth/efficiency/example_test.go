package efficiency_test

import (
	"fmt"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/efficiency"
)

// A job's loss falls quickly at first and then stands still.
func ExampleTracker() {
	tracker := efficiency.New(efficiency.Config{}, growth.Minimize)
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	before := growth.Category("")
	for tick := range 40 {
		_, _ = tracker.Report(int64(tick), 0.1+2*math.Exp(-float64(tick)/3))
		cpu := growth.Work(5 * tick) // the job uses one core
		reading := tracker.Tick(now.Add(time.Duration(tick)*5*time.Second), efficiency.Usage{
			Work:  cpu,
			Known: true,
		})
		if reading.Category != before {
			fmt.Printf("after %d s: %s\n", 5*tick, reading.Category)
			before = reading.Category
		}
	}
	// Output:
	// after 0 s: Progressing
	// after 90 s: Watching
	// after 100 s: Converged
}
