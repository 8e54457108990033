package clustersim

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"

	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
)

// Mean is a mean over seeds with its 95 % interval.
type Mean struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Row is a system on a schedule, compared with Default on the same jobs. Changes are in per cent; negative is sooner.
type Row struct {
	Schedule Schedule `json:"schedule"`
	System   string   `json:"system"`
	// Completion is the mean time from arrival to end, in seconds, and CompletionChange its change.
	Completion       Mean `json:"completionSeconds"`
	CompletionChange Mean `json:"completion"`
	Makespan         Mean `json:"makespanSeconds"`
	MakespanChange   Mean `json:"makespan"`
	// Slower and Harmed are the parts of the jobs that end more than 1 % and 5 % later, and Worst is the change of the job of
	// each seed that is delayed most.
	Slower Mean `json:"slower"`
	Harmed Mean `json:"harmed"`
	Worst  Mean `json:"worst"`
	// Moves is the number of moves for each job, MostMoves the greatest number of one job.
	Moves     Mean `json:"moves"`
	MostMoves int  `json:"mostMoves"`
	// Balance is the standard deviation of the workers' CPU utilization, in per cent of a worker.
	Balance Mean `json:"balance"`
}

// The relative delays from which a job counts as slower and as harmed.
const slower, harmed = 0.01, 0.05

// Run runs every system on each schedule, the pool and the lower bounds, for seeds 1 to seeds. It calls progress after each row.
func Run(ctx context.Context, seeds int, schedules []Schedule, systems []System, progress func(Row)) ([]Row, error) {
	var rows []Row
	for _, s := range schedules {
		baseline := repeat(ctx, seeds, s, systems[0])
		for _, system := range systems {
			runs := baseline
			if system.Name != systems[0].Name {
				runs = repeat(ctx, seeds, s, system)
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			row := compare(baseline, runs)
			row.Schedule, row.System = s, system.Name
			rows = append(rows, row)
			progress(row)
		}
		for _, ideal := range []struct {
			name string
			run  func([]sim.Job, float64) outcome
		}{{Pooled, runPooled}, {Bound, lowerBounds}} {
			runs := make([]outcome, seeds)
			for i := range runs {
				runs[i] = ideal.run(s.draw(uint64(i+1)), float64(s.Workers)*workerCores)
			}
			row := compare(baseline, runs)
			row.Schedule, row.System = s, ideal.name
			rows = append(rows, row)
			progress(row)
		}
	}
	return rows, nil
}

// repeat runs a system once for each seed, on all cores of this computer.
func repeat(ctx context.Context, seeds int, s Schedule, system System) []outcome {
	all := make([]outcome, seeds)
	var wait sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				seed := uint64(i + 1)
				all[i] = newCluster(s, system, seed).run(s.draw(seed))
			}
		})
	}
	for i := range seeds {
		if ctx.Err() == nil {
			next <- i
		}
	}
	close(next)
	wait.Wait()
	return all
}

// compare returns the figures of a system, relative to a baseline of the same jobs.
func compare(baseline, runs []outcome) Row {
	var r Row
	n := len(runs)
	figures := make([][]float64, 8)
	for i := range figures {
		figures[i] = make([]float64, n)
	}
	for s, run := range runs {
		was := baseline[s]
		mean, before, moves, worst, late, later := 0.0, 0.0, 0.0, math.Inf(-1), 0.0, 0.0
		jobs := float64(len(run.ends))
		for j, end := range run.ends {
			change := end/was.ends[j] - 1
			mean += end / jobs
			before += was.ends[j] / jobs
			moves += float64(run.moves[j]) / jobs
			r.MostMoves = max(r.MostMoves, run.moves[j])
			worst = max(worst, 100*change)
			if change > slower {
				late += 100 / jobs
			}
			if change > harmed {
				later += 100 / jobs
			}
		}
		for i, v := range []float64{
			mean, 100 * (mean/before - 1), run.makespan, 100 * (run.makespan/was.makespan - 1), late, later, worst, moves,
		} {
			figures[i][s] = v
		}
	}
	for i, to := range []*Mean{
		&r.Completion, &r.CompletionChange, &r.Makespan, &r.MakespanChange, &r.Slower, &r.Harmed, &r.Worst, &r.Moves,
	} {
		*to = meanOf(figures[i])
	}
	uneven := make([]float64, n)
	for s, run := range runs {
		uneven[s] = 100 * run.unevenness / run.makespan
	}
	r.Balance = meanOf(uneven)
	return r
}

func meanOf(values []float64) Mean {
	n, mean, squares := float64(len(values)), 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	half := 1.96 * math.Sqrt(squares/max(1, n-1)/n)
	round := func(x float64) float64 { return math.Round(100*x) / 100 }
	return Mean{round(mean), round(mean - half), round(mean + half)}
}

// Table prints the rows.
func Table(w io.Writer, rows []Row) {
	fmt.Fprintf(w, "%-10s %-36s %12s %9s %10s %9s %8s %8s %9s %7s %8s\n", "schedule", "system", "completion", "change", "makespan", "change",
		"slower", "harmed", "worst", "moves", "balance")
	for _, r := range rows {
		fmt.Fprintf(w, "%-10s %-36s %10.1f s %+7.1f %% %8.1f s %+7.1f %% %6.1f %% %6.1f %% %+7.1f %% %7.2f %6.1f %%\n", r.Schedule.Name, r.System,
			r.Completion.Value, r.CompletionChange.Value, r.Makespan.Value, r.MakespanChange.Value, r.Slower.Value, r.Harmed.Value,
			r.Worst.Value, r.Moves.Value, r.Balance.Value)
	}
}
