package fairfinish_test

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Two jobs arrive on a node of two cores. Fair sharing would give each one core: the short job would end after 60 s.
// The policy gives it more, because the long one still ends in time.
func ExampleDecide() {
	config := fairfinish.Config{
		Objective: fairfinish.Finish,
		Floor:     fairfinish.DefaultFloor,
		Interval:  5 * time.Second,
		Cores:     2 * growth.Core,
	}
	jobs := []fairfinish.Job{
		{ID: "short", Remaining: remaining.Exact(60)},
		{ID: "long", Remaining: remaining.Exact(600)},
	}
	_, decision := fairfinish.Decide(config, fairfinish.State{}, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), jobs)
	for _, grant := range decision.Grants {
		fmt.Printf("%-5s share %.2f, fair finish after %.0f s\n", grant.ID, float64(grant.Share),
			float64(grant.FairFinish))
	}
	// Output:
	// short share 0.99, fair finish after 60 s
	// long  share 0.01, fair finish after 330 s
}
