package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/memoryprofile"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// memoryFile is the name of a recording.
const memoryFile = "memory.csv"

type memoryOptions struct {
	commit   string
	quick    bool
	strict   bool
	measure  bool
	python   string
	recorded string
	out      string
}

func memoryCommand(commit string) *cobra.Command {
	o := memoryOptions{commit: commit}
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "How well the largest memory of a job is predicted, and the memory of a batch size",
		Long: `memory predicts the largest memory of recorded jobs: while they run, and before their first step by an earlier run or by what they
say about their model. It also predicts what PyTorch allocates at a batch size from smaller ones. It writes memory.json.

--measure first records the example jobs at several batch sizes on this machine, which may be busy: ten minutes, with Python, PyTorch
and scikit-learn. --quick records two kinds of jobs for a moment.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.quick, "quick", false, "record two kinds of jobs, shortly")
	f.BoolVar(&o.strict, "strict", false, "fail if a goal is not met")
	f.BoolVar(&o.measure, "measure", false, "record the memory of the example jobs first")
	f.StringVar(&o.python, "python", "/usr/bin/python3", "Python with PyTorch and scikit-learn, for --measure")
	f.StringVar(&o.recorded, "recorded", filepath.Join("benchmarks", "measured", memoryFile), "file with the recorded memory")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for memory.json")
	return cmd
}

func (o *memoryOptions) run(cmd *cobra.Command) error {
	if o.quick && !cmd.Flags().Changed("recorded") {
		o.measure, o.recorded = true, filepath.Join(o.out, memoryFile) // a short recording is not published
	}
	began := time.Now()
	if o.measure {
		if err := record(cmd.Context(), o.python, "memoryprofile.py", o.recorded, o.quick); err != nil {
			return err
		}
	}
	recorded, err := o.read()
	if err != nil {
		return err
	}
	summary := results.Summary{
		Name: "memory", Quick: o.quick, Commit: o.commit, Date: began.UTC().Truncate(time.Second), Machine: results.ThisMachine(nil),
		Command:  results.Command("bench-memory", cmd.Flags(), "out", "recorded", "python"),
		Settings: map[string]string{"recorded runs": strconv.Itoa(len(recorded)), "ranges": "over the kinds of jobs"},
		Goals:    memoryprofile.Evaluate(recorded).Goals(),
	}
	summary.Took("all", time.Since(began))
	err = errors.Join(results.Table(cmd.OutOrStdout(), summary.Goals), summary.Write(filepath.Join(o.out, "memory.json")))
	if missed := summary.Missed(); o.strict && len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d goals were missed: %q", len(missed), missed))
	}
	return err
}

func (o *memoryOptions) read() ([]memoryprofile.Recording, error) {
	file, err := os.Open(o.recorded)
	if err != nil {
		return nil, fmt.Errorf("%w: record it by --measure", err)
	}
	defer func() { _ = file.Close() }()
	recorded, err := memoryprofile.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; record it again by --measure", o.recorded, err)
	}
	return recorded, nil
}
