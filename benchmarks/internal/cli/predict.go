package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/prediction"
	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// iterationFile is the file in the folder of --data.
const iterationFile = "iteration_time.csv"

type predictOptions struct {
	commit string
	data   string
	seeds  int
	quick  bool
	strict bool
	others bool
	python string
	out    string
}

func predictCommand(commit string) *cobra.Command {
	o := predictOptions{commit: commit}
	cmd := &cobra.Command{
		Use:   "predict --data DIR",
		Short: "How well the iteration time of unseen jobs is predicted, before and after their first iterations",
		Long: `predict predicts the iteration times of job configurations that the model has not seen, on the data of Qore-DL: five folds
of configurations for each seed. It writes predict.json.

The data is not part of this project. --data is the folder with ` + iterationFile + `: data1.csv of resource_ietration_time in the
repository qore-dl/qore-dl-code (Apache License 2.0), or another file with the same columns.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "folder with "+iterationFile)
	f.IntVar(&o.seeds, "seeds", 5, "number of splits into folds")
	f.BoolVar(&o.quick, "quick", false, "one seed")
	f.BoolVar(&o.strict, "strict", false, "fail if a goal is not met")
	f.BoolVar(&o.others, "others", false, "predict also by twelve models of scikit-learn: half a minute")
	f.StringVar(&o.python, "python", "/usr/bin/python3", "Python with scikit-learn, for --others")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for predict.json")
	return cmd
}

func (o *predictOptions) run(cmd *cobra.Command) error {
	if o.quick {
		o.seeds = 1
	}
	if o.seeds < 1 || o.seeds > 1000 {
		return fmt.Errorf("--seeds %d: 1 to 1000", o.seeds)
	}
	rows, err := o.read()
	if err != nil {
		return err
	}
	began := time.Now()
	summary := results.Summary{
		Name: "predict", Quick: o.quick, Commit: o.commit, Date: began.UTC().Truncate(time.Second), Machine: results.ThisMachine(nil),
		Command:  results.Command("bench-predict", cmd.Flags(), "out", "data", "python"),
		Settings: map[string]string{"rows": strconv.Itoa(len(rows)), "folds of configurations": strconv.Itoa(prediction.Folds)},
	}
	var rounds []prediction.Round
	var others []prediction.Others
	for seed := range o.seeds {
		round, err := prediction.Evaluate(rows, uint64(seed+1))
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(o.data, iterationFile), err)
		}
		rounds = append(rounds, round)
		if o.others {
			other, err := prediction.EvaluateOthers(cmd.Context(), o.python, rows, uint64(seed+1))
			if err != nil {
				return err
			}
			others = append(others, other)
		}
		summary.Seeds = append(summary.Seeds, uint32(seed+1))
	}
	summary.Goals = prediction.Goals(rows, rounds)
	if o.others {
		summary.Goals = append(summary.Goals, prediction.OtherGoals(others)...)
	}
	summary.Took("all", time.Since(began))
	err = errors.Join(results.Table(cmd.OutOrStdout(), summary.Goals), summary.Write(filepath.Join(o.out, "predict.json")))
	if missed := summary.Missed(); o.strict && len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d goals were missed: %q", len(missed), missed))
	}
	return err
}

func (o *predictOptions) read() ([]qoredl.Iteration, error) {
	if o.data == "" {
		return nil, fmt.Errorf("--data is missing: give the folder with %s of Qore-DL, or set TRELLIS_DATA", iterationFile)
	}
	return readData(o.data, iterationFile, qoredl.ReadIterations)
}
