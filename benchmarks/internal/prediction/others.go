package prediction

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"

	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

//go:embed othermodels.py
var otherModels string

// Others has the cold predictions of one seed by other models. Cases has those of each model of Names.
type Others struct {
	Names []string
	Cases map[string][]Case
}

// EvaluateOthers predicts each row once by models of scikit-learn, with the folds of Evaluate. python is an interpreter that has it.
func EvaluateOthers(ctx context.Context, python string, rows []qoredl.Iteration, seed uint64) (Others, error) {
	points := pointsOf(rows)
	fold := split(configurations(points), Folds, rand.New(rand.NewPCG(seed, 0)))
	var in bytes.Buffer
	for _, p := range points {
		j := p.job()
		fmt.Fprintf(&in, "%d,%g,%g,%g,%g,%g,%g\n", fold[p.configuration], j.Batch, j.FLOPs, j.Params,
			p.allocation.CPU, p.allocation.Memory, median(p.times))
	}
	command := exec.CommandContext(ctx, python, "-W", "ignore", "-c", otherModels)
	command.Stdin, command.Stderr = &in, os.Stderr
	out, err := command.Output()
	if err != nil {
		return Others{}, fmt.Errorf("predicting by models of scikit-learn with %s: %w", python, err)
	}
	return readOthers(out, points)
}

// readOthers reads the names of the models, and a line with one prediction of each for each point.
func readOthers(out []byte, points []point) (Others, error) {
	lines, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil {
		return Others{}, err
	}
	if len(lines) != len(points)+1 {
		return Others{}, fmt.Errorf("%d lines of predictions for %d points", len(lines)-1, len(points))
	}
	o := Others{Names: lines[0], Cases: map[string][]Case{}}
	for i, p := range points {
		for n, text := range lines[i+1] {
			predicted, err := strconv.ParseFloat(text, 64)
			if err != nil || !(predicted > 0) || math.IsInf(predicted, 1) {
				return Others{}, errors.Join(err, fmt.Errorf("%s predicts %q, no time", o.Names[n], text))
			}
			for _, t := range p.times {
				o.Cases[o.Names[n]] = append(o.Cases[o.Names[n]], Case{True: t, Predicted: predicted})
			}
		}
	}
	return o, nil
}

// OtherGoals returns the figures of other models.
func OtherGoals(rounds []Others) []results.Goal {
	var goals []results.Goal
	for _, name := range rounds[0].Names {
		var squares, errors []float64
		for _, o := range rounds {
			squares = append(squares, explained(o.Cases[name]))
			errors = append(errors, meanError(o.Cases[name]))
		}
		goals = append(goals, rounded(name+": R²", "", squares), rounded(name+": mean error", "%", errors))
	}
	return goals
}
