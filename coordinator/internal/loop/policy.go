package loop

import (
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/flowcon"
)

// Config are the loop's parameters.
type Config struct {
	Efficiency efficiency.Config
	// FlowCon holds the policy, whichever it is, and the interval.
	FlowCon flowcon.Config
	// Objective says what harmless spends slack on.
	Objective fairfinish.Objective
	// Direct says that weights are written into cgroups, and requests left as they are.
	Direct bool
	// GPUTime lets shares rule how much of the time jobs that share a GPU may compute.
	GPUTime bool
}

// Validate names the first parameter that is out of bounds.
func (c Config) Validate() error {
	for _, err := range []error{c.Efficiency.Validate(), c.FlowCon.Validate(), c.fairFinish(growth.Core).Validate()} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c Config) fairFinish(cores growth.MilliCPU) fairfinish.Config {
	return fairfinish.Config{Objective: c.Objective, Floor: fairfinish.DefaultFloor, Interval: c.FlowCon.Interval, Cores: cores}
}

// division is what a policy makes of the jobs that share, in their order.
type division struct {
	grants []grant
	// next is the time to the next decision, if nothing interrupts it.
	next time.Duration
}

// grant is one job's part.
type grant struct {
	category growth.Category
	weight   float64
	share    growth.Share
	reason   string
	inputs   explain.Inputs
}

// divide asks the policy.
func (l *Loop) divide(jobs []*job, originals []pods.Requests, interrupted, rearranged bool, now time.Time) division {
	if l.config.FlowCon.Policy == flowcon.Harmless {
		return l.harmless(jobs, originals, interrupted, now)
	}
	in := flowcon.Input{Interrupted: interrupted, Interval: l.interval}
	if rearranged {
		in.Interval = l.config.FlowCon.Interval
	}
	for _, j := range jobs {
		in.Jobs = append(in.Jobs, l.input(j, now))
	}
	decision := flowcon.Decide(l.config.FlowCon, now, in)
	l.interval = decision.Interval
	d := division{next: decision.Interval}
	for i, g := range decision.Grants {
		d.grants = append(d.grants, grant{g.Category, g.Weight, g.Share, g.Reason, jobs[i].inputs()})
	}
	return d
}
