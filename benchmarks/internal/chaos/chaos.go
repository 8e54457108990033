package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// BackWithin is the time limit for a binary to come back: kubelet's first restarts are immediate, readiness takes
// some seconds.
const BackWithin = 2 * time.Minute

// Container is the status of one container.
type Container struct {
	Ready    bool
	Restarts int
}

// Cluster is the cluster whose binaries are killed.
type Cluster interface {
	// Kill sends SIGKILL to every process of a binary and returns their IDs.
	Kill(binary string) ([]int, error)
	// Containers returns the containers that run a binary.
	Containers(ctx context.Context, binary string) ([]Container, error)
}

// Outcome is the result of a strike. Times are relative to the start of the run; zero means not yet.
type Outcome struct {
	Binary   string
	Struck   time.Duration
	Killed   []int
	Back     time.Duration
	Restarts int // since the strike
	before   int
}

// Absence returns how long the binary was down, to the precision of a turn; zero until it comes back.
func (o Outcome) Absence() time.Duration {
	if o.Back == 0 {
		return 0
	}
	return o.Back - o.Struck
}

// Chaos strikes as planned.
type Chaos struct {
	Cluster Cluster
	Plan    []Strike
	// Outcomes are those of the strikes so far.
	Outcomes []Outcome
}

// News is an event of a turn: a strike, or a return.
type News struct {
	Outcome
	Returned bool
}

// Turn executes the strikes that are due (now is the time since the start of the run) and checks the earlier ones. It
// postpones the strike of a binary that is unhealthy or whose containers are unknown.
func (c *Chaos) Turn(ctx context.Context, now time.Duration) ([]News, error) {
	var news []News
	var errs []error
	for i := range c.Outcomes {
		o := &c.Outcomes[i]
		if o.Back > 0 {
			continue
		}
		if err := c.look(ctx, o, now); err != nil {
			errs = append(errs, err)
		} else if o.Back > 0 {
			news = append(news, News{*o, true})
		}
	}
	c.Plan = slices.DeleteFunc(c.Plan, func(s Strike) bool {
		if s.At > now {
			return false
		}
		o, err := c.strike(ctx, s.Binary, now)
		if err != nil {
			errs = append(errs, err)
		}
		if len(o.Killed) == 0 {
			return false
		}
		c.Outcomes = append(c.Outcomes, o)
		news = append(news, News{Outcome: o})
		return true
	})
	return news, errors.Join(errs...)
}

func (c *Chaos) strike(ctx context.Context, binary string, now time.Duration) (Outcome, error) {
	ready, restarts, err := c.health(ctx, binary)
	if err != nil || !ready {
		return Outcome{}, err
	}
	killed, err := c.Cluster.Kill(binary)
	return Outcome{Binary: binary, Struck: now, Killed: killed, before: restarts}, err
}

func (c *Chaos) look(ctx context.Context, o *Outcome, now time.Duration) error {
	ready, restarts, err := c.health(ctx, o.Binary)
	if err != nil {
		return err
	}
	o.Restarts = restarts - o.before
	if ready && o.Restarts >= len(o.Killed) {
		o.Back = now
	}
	return nil
}

// health summarises a binary's containers.
func (c *Chaos) health(ctx context.Context, binary string) (ready bool, restarts int, err error) {
	containers, err := c.Cluster.Containers(ctx, binary)
	for _, container := range containers {
		restarts += container.Restarts
	}
	return !slices.ContainsFunc(containers, func(c Container) bool { return !c.Ready }) && len(containers) > 0, restarts, err
}

// Settled reports whether every binary that was struck is back, or has exceeded its time limit.
func (c *Chaos) Settled(now time.Duration) bool {
	return !slices.ContainsFunc(c.Outcomes, func(o Outcome) bool { return o.Back == 0 && now-o.Struck < BackWithin })
}

// Failures lists the binaries that did not come back or were never struck, as an error.
func (c *Chaos) Failures() error {
	var errs []error
	for _, o := range c.Outcomes {
		if o.Back == 0 {
			errs = append(errs, fmt.Errorf("%s did not come back after kill -9 at %s", o.Binary, o.Struck.Round(time.Second)))
		}
	}
	for _, s := range c.Plan {
		errs = append(errs, fmt.Errorf("%s was not killed at %s: the run was over, or it was not ready", s.Binary, s.At))
	}
	return errors.Join(errs...)
}
