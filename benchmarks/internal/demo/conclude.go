package demo

import (
	"errors"
	"fmt"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/plot"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// keep adds a pass to its round, including one that was interrupted.
func (d *Demo) keep(p pass, run *Run) {
	for len(d.rounds) < p.round {
		d.rounds = append(d.rounds, results.Round{})
	}
	round := &d.rounds[p.round-1]
	if p.compared {
		round.Other = &run.line
		return
	}
	round.Run = &run.line
	if run.Chaos != nil {
		round.Killed = run.Chaos.Outcomes
	}
}

// judge records the expectations that a complete pass did not fulfil.
func (d *Demo) judge(p pass, run *Run) {
	if run.Chaos != nil {
		d.missed = append(d.missed, run.Chaos.Failures())
	}
	if !p.compared && d.Complete {
		d.missed = append(d.missed, results.Missed(d.Jobs, &run.line))
	}
	if run.Chaos == nil && d.Complete {
		d.missed = append(d.missed, run.curves())
	}
}

// conclude writes the results.
func (d *Demo) conclude() error {
	rounds := slices.DeleteFunc(d.rounds, func(r results.Round) bool { return r.Run == nil })
	if len(rounds) == 0 {
		return nil
	}
	first := rounds[0]
	d.Summary.Machine = results.ThisMachine(first.Run.Last().Nodes)
	d.Summary.Conclude(d.Jobs, rounds...)
	results.Report(d.Report, d.Jobs, rounds...)
	if !d.Complete {
		fmt.Fprintln(d.Report, "\n  Whether each kind of job sees each sort of change is judged in a full run of the demo's own jobs only: others may be too short for it.")
	}
	err := errors.Join(d.Folder.Jobs(rounds...), d.Folder.Plot(plot.SVG(first.Run, first.Other)), d.Folder.Summary(d.Summary))
	fmt.Fprintf(d.Report, "\nResults: %s\n", d.Folder.Path)
	return err
}
