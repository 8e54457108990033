package batchsize

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/goodput"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Kinds are the real jobs: launches of small layers, attention, convolutions, and a recurrent network.
func Kinds() []string { return []string{"mlp", "transformer", "cnn", "lstm"} }

// realRange are the sizes that a real job accepts.
var realRange = goodput.Range{Default: 64, Min: 8, Max: 512, Rule: goodput.SquareRoot}

// Times are the lengths of the parts of a run with a real job.
type Times struct {
	// Interval is that of the coordinator, Search the longest time of the search. It ends earlier after Calm without a change, once
	// the noise of the gradients is known.
	Interval, Search, Calm time.Duration
	// Measure is the time for which a fixed size is measured, Rounds the number of times.
	Measure time.Duration
	Rounds  int
	// Gradients is the time for the cost of gradients().
	Gradients time.Duration
}

// FullTimes are those of a published run. The interval is the coordinator's default.
func FullTimes() Times {
	return Times{
		Interval:  policy.DefaultInterval,
		Search:    9 * time.Minute,
		Calm:      100 * time.Second,
		Measure:   2 * time.Second,
		Rounds:    3,
		Gradients: 40 * time.Second,
	}
}

// QuickTimes show that the benchmark works.
func QuickTimes() Times {
	return Times{
		Interval:  time.Second,
		Search:    15 * time.Second,
		Calm:      8 * time.Second,
		Measure:   300 * time.Millisecond,
		Rounds:    1,
		Gradients: 2 * time.Second,
	}
}

// Real is the result of a real job.
type Real struct {
	Kind string `json:"kind"`
	// Seed is that of the job: its weights, and the order of its data.
	Seed int `json:"seed"`
	// Own is the job's own size, Size the one that was chosen, and Best that with the most goodput of all in Fixed.
	Own  int `json:"own"`
	Size int `json:"size"`
	Best int `json:"best"`
	// Points is the number of sizes that were measured until Size was chosen, after Seconds.
	Points     int     `json:"points"`
	Seconds    float64 `json:"seconds"`
	RolledBack int     `json:"rolledBack"`
	// ScaleLow and ScaleHigh bound the noise scale of the gradients, in samples.
	ScaleLow  float64 `json:"scaleLow"`
	ScaleHigh float64 `json:"scaleHigh"`
	Fixed     []Fixed `json:"fixed"`
}

// Run brings a real job with a seed to its size and measures all fixed sizes. say receives the progress.
func (w Workplace) Run(ctx context.Context, kind string, seed int, t Times, say func(string)) (Real, error) {
	p, err := w.start(ctx, kind, fmt.Sprintf("--seed=%d", seed), "--steps=1000000000", "--workers=0", "--preprocess=0", "--device=cpu",
		fmt.Sprintf("--batch-size=%d", realRange.Default), fmt.Sprintf("--batch-range=%d:%d", realRange.Min, realRange.Max),
		"--learning-rate-rule="+string(realRange.Rule))
	if err != nil {
		return Real{}, err
	}
	defer p.end()
	s := &search{process: p, times: t, say: say}
	if err := s.run(ctx); err != nil {
		return Real{}, fmt.Errorf("%s: %w", kind, err)
	}
	r := Real{
		Kind:       kind,
		Seed:       seed,
		Own:        realRange.Default,
		Size:       s.size,
		Points:     s.points,
		Seconds:    s.changed.Sub(s.began).Seconds(),
		RolledBack: s.driver.rolledBack,
	}
	e := &exhaustive{process: p, times: t, say: say, generation: s.generation, noise: s.driver.sample.Batch.Noise}
	if r.Fixed, err = e.run(ctx); err != nil {
		return Real{}, fmt.Errorf("%s: %w", kind, err)
	}
	r.ScaleLow, r.ScaleHigh = e.bounds()
	r.Best = r.best(Fixed.efficiency).Batch
	say(fmt.Sprintf("%s: %d is the best size", kind, r.Best))
	return r, nil
}

// search is the part of a run in which the size changes.
type search struct {
	process *process
	times   Times
	say     func(string)
	driver  *driver

	began, changed time.Time
	size, points   int
	generation     int64
}

func (s *search) run(ctx context.Context) error {
	first, err := s.process.next(ctx, time.Now().Add(startup))
	if err != nil || first == nil {
		return errorOr(err, "run.py sends nothing")
	}
	now := time.Now()
	s.began, s.changed = now, now
	s.driver = newDriver(now, s.times.Interval)
	s.driver.report(now, first)
	for !s.over(now) {
		if now, err = s.interval(ctx, now.Add(s.times.Interval)); err != nil {
			return err
		}
	}
	if s.size == 0 {
		return fmt.Errorf("run.py has not reported its batch size in %v", s.times.Search)
	}
	return nil
}

// interval serves the job until a time, and ends an interval of the coordinator.
func (s *search) interval(ctx context.Context, end time.Time) (time.Time, error) {
	for {
		m, err := s.process.next(ctx, end)
		if err != nil {
			return end, err
		}
		if m == nil {
			break
		}
		s.driver.report(time.Now(), m)
	}
	now := time.Now()
	s.driver.tick(now, s.process.memory())
	if config := s.driver.take(now); config != nil {
		s.generation = config.Generation
		if err := s.process.send(*config); err != nil {
			return now, err
		}
	}
	if size := s.driver.sample.BatchSize; size != nil && *size != s.size {
		s.size, s.points, s.changed = *size, s.driver.points(), now
		s.say(fmt.Sprintf("%.0f s: batch size %d", now.Sub(s.began).Seconds(), s.size))
	}
	s.points = s.driver.points()
	return now, nil
}

// over reports whether the search is at its end. A trial is not cut off, unless its time is up.
func (s *search) over(now time.Time) bool {
	known := s.driver.sample.Batch
	calm := known != nil && known.Noise.Known() && !known.Trying && now.Sub(s.changed) >= s.times.Calm
	return calm || now.Sub(s.began) >= s.times.Search
}

func errorOr(err error, text string) error {
	if err != nil {
		return err
	}
	return errors.New(text)
}

// applied reports whether a message acknowledges a config, or a later one.
func applied(m wire.Message, generation int64) bool {
	ack, ok := m.(wire.Ack)
	return ok && ack.Generation >= generation
}
