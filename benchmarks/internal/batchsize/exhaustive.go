package batchsize

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth/goodput"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Fixed is a size that was measured as a fixed one.
type Fixed struct {
	Batch int `json:"batch"`
	// SamplesPerSecond has one value for each round.
	SamplesPerSecond []float64 `json:"samplesPerSecond"`
	// Efficiency is the value of a sample by the noise scale at the end of the run, Searched by the one at the end of the search.
	Efficiency float64 `json:"efficiency"`
	Searched   float64 `json:"searched"`
}

func (f Fixed) efficiency() float64 { return f.Efficiency }

func (f Fixed) searched() float64 { return f.Searched }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// best returns the size with the most goodput in the median round, by a value of its samples.
func (r Real) best(value func(Fixed) float64) Fixed {
	return slices.MaxFunc(r.Fixed, func(a, b Fixed) int {
		return cmp.Compare(value(a)*median(a.SamplesPerSecond), value(b)*median(b.SamplesPerSecond))
	})
}

// part returns the goodput of a size relative to that of the best one in the median round, in per cent.
func (r Real) part(size int, value func(Fixed) float64) float64 {
	f := r.Fixed[slices.IndexFunc(r.Fixed, func(f Fixed) bool { return f.Batch == size })]
	best := r.best(value)
	parts := make([]float64, len(f.SamplesPerSecond))
	for i, rate := range f.SamplesPerSecond {
		parts[i] = 100 * rate * value(f) / (best.SamplesPerSecond[i] * value(best))
	}
	return median(parts)
}

// exhaustive measures all fixed sizes, in turns.
type exhaustive struct {
	process    *process
	times      Times
	say        func(string)
	generation int64
	noise      goodput.Noise
}

func (e *exhaustive) run(ctx context.Context) ([]Fixed, error) {
	searched := e.noise
	var all []Fixed
	for _, size := range fixedSizes(realRange) {
		all = append(all, Fixed{Batch: size})
	}
	for round := range e.times.Rounds {
		e.say(fmt.Sprintf("%d fixed sizes, round %d of %d", len(all), round+1, e.times.Rounds))
		for i := range all {
			rate, err := e.measure(ctx, all[i].Batch)
			if err != nil {
				return nil, fmt.Errorf("batch size %d: %w", all[i].Batch, err)
			}
			all[i].SamplesPerSecond = append(all[i].SamplesPerSecond, rate)
		}
	}
	for i := range all {
		all[i].Efficiency = efficiency(e.noise, all[i].Batch)
		all[i].Searched = efficiency(searched, all[i].Batch)
	}
	return all, nil
}

// fixedSizes are powers of two and those times one and a half in a range: the sizes that the search chooses from.
func fixedSizes(r goodput.Range) (sizes []int) {
	for power := 2; power <= 2*r.Max; power *= 2 {
		for _, size := range []int{power / 4 * 3, power} {
			if size >= r.Min && size <= r.Max {
				sizes = append(sizes, size)
			}
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// measure returns the samples per second with a size, between the first report after a settling time and the last one.
func (e *exhaustive) measure(ctx context.Context, size int) (float64, error) {
	e.generation++
	if err := e.process.send(wire.Config{Generation: e.generation, Values: wire.Values{BatchSize: &size}}); err != nil {
		return 0, err
	}
	if err := e.await(ctx, e.generation); err != nil {
		return 0, err
	}
	settled := time.Now().Add(e.times.Measure / 4)
	var first, last time.Time
	samples := 0.0
	for deadline := time.Now().Add(startup); last.IsZero() || last.Sub(first) < e.times.Measure; {
		m, err := e.process.next(ctx, deadline)
		if err != nil || m == nil {
			return 0, errorOr(err, "run.py sends nothing")
		}
		p, ok := m.(wire.Progress)
		if !ok {
			continue
		}
		e.learn(p)
		switch now := time.Now(); {
		case now.Before(settled) || p.BatchSize == nil || *p.BatchSize != size:
		case first.IsZero():
			first = now
		default:
			samples, last = samples+float64(p.Samples), now
		}
	}
	return samples / last.Sub(first).Seconds(), nil
}

// await waits until the job has applied a config.
func (e *exhaustive) await(ctx context.Context, generation int64) error {
	for deadline := time.Now().Add(startup); ; {
		m, err := e.process.next(ctx, deadline)
		if err != nil || m == nil {
			return errorOr(err, "run.py does not apply it")
		}
		if p, ok := m.(wire.Progress); ok {
			e.learn(p)
		}
		if applied(m, generation) {
			return nil
		}
	}
}

func (e *exhaustive) learn(p wire.Progress) {
	if g := p.Gradients; g != nil {
		e.noise = e.noise.Add(goodput.Comparison{
			Small:        float64(g.Small),
			SmallSquared: g.SmallSquared,
			Large:        float64(g.Large),
			LargeSquared: g.LargeSquared,
		})
	}
}

// efficiency is the value of a sample by the most likely noise scale. As long as none is known, no larger size is better.
func efficiency(n goodput.Noise, size int) float64 {
	scale := n.Likely()
	return realRange.Rule.Efficiency(scale, scale, float64(realRange.Default), float64(size))
}

// bounds are those of the noise scale; 0 and 0 if it is unknown.
func (e *exhaustive) bounds() (low, high float64) {
	if !e.noise.Known() {
		return 0, 0
	}
	return e.noise.Scale()
}
