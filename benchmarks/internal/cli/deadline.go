package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/deadlinesim"
	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// traceFile is the other file in the folder of --data.
const traceFile = "node_resource_trace.csv"

// The load of the figures with goals, and the loads that show how the figures depend on it. The latter have fewer seeds.
const judgedLoad, otherSeeds = 0.75, 5

var otherLoads = []float64{0.5, 1}

type deadlineOptions struct {
	commit string
	data   string
	seeds  int
	quick  bool
	strict bool
	out    string
}

func deadlineCommand(commit string) *cobra.Command {
	o := deadlineOptions{commit: commit}
	cmd := &cobra.Command{
		Use:   "deadline --data DIR",
		Short: "How many deadlines are met on Qore-DL's CPU clusters, in virtual time",
		Long: `deadline runs training jobs with deadlines on the two CPU clusters of Qore-DL's experiments in virtual time: under Kubernetes'
default scheduler, Qore-DL as in its code and as in its paper, an even split, and Trellis with its policies harmless and qore-dl. It
writes deadline.json.

The data is not part of this project. --data is the folder with ` + iterationFile + ` and ` + traceFile + `: data1.csv of
resource_ietration_time and of node_resource_traces in the repository qore-dl/qore-dl-code (Apache License 2.0).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "folder with "+iterationFile+" and "+traceFile)
	f.IntVar(&o.seeds, "seeds", 50, "number of workloads")
	f.BoolVar(&o.quick, "quick", false, "two workloads, the smaller cluster, one load")
	f.BoolVar(&o.strict, "strict", false, "fail if a goal is not met")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for deadline.json")
	return cmd
}

func (o *deadlineOptions) run(cmd *cobra.Command) error {
	layouts, loads := deadlinesim.Layouts(), otherLoads
	if o.quick {
		o.seeds, layouts, loads = 2, layouts[:1], nil
	}
	if o.seeds < 2 || o.seeds > 1000 {
		return fmt.Errorf("--seeds %d: 2 to 1000", o.seeds)
	}
	laws, trace, err := o.read()
	if err != nil {
		return err
	}
	began := time.Now()
	summary := results.Summary{
		Name: "deadline", Quick: o.quick, Commit: o.commit, Date: began.UTC().Truncate(time.Second), Machine: results.ThisMachine(nil),
		Command: results.Command("bench-deadline", cmd.Flags(), "out", "data"),
		Settings: map[string]string{
			"job configurations":           strconv.Itoa(len(laws)),
			"time":                         "virtual",
			"seeds of loads without goals": strconv.Itoa(min(o.seeds, otherSeeds)),
		},
	}
	for seed := range o.seeds {
		summary.Seeds = append(summary.Seeds, uint32(seed+1))
	}
	for _, layout := range layouts {
		e := deadlinesim.Experiment{Layout: layout, Trace: trace, Laws: laws, Load: judgedLoad}
		summary.Goals = append(summary.Goals, deadlinesim.Figures(e, deadlinesim.Run(e, deadlinesim.Systems(), o.seeds), true)...)
		for _, load := range loads {
			e.Load = load
			few := deadlinesim.Run(e, deadlinesim.Few(), min(o.seeds, otherSeeds))
			summary.Goals = append(summary.Goals, deadlinesim.Figures(e, few, false)...)
		}
	}
	summary.Took("all", time.Since(began))
	err = errors.Join(results.Table(cmd.OutOrStdout(), summary.Goals), os.MkdirAll(o.out, 0o755),
		summary.Write(filepath.Join(o.out, "deadline.json")))
	if missed := summary.Missed(); o.strict && len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d goals were missed: %q", len(missed), missed))
	}
	return err
}

// read reads both files.
func (o *deadlineOptions) read() ([]deadlinesim.Law, deadlinesim.Trace, error) {
	if o.data == "" {
		return nil, nil, fmt.Errorf("--data is missing: give the folder with %s and %s of Qore-DL, or set TRELLIS_DATA", iterationFile, traceFile)
	}
	rows, err := readData(o.data, iterationFile, qoredl.ReadIterations)
	if err != nil {
		return nil, nil, err
	}
	samples, err := readData(o.data, traceFile, qoredl.ReadUtilisation)
	if err != nil {
		return nil, nil, err
	}
	laws, err := deadlinesim.Laws(rows)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", iterationFile, err)
	}
	trace, err := deadlinesim.NewTrace(samples)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", traceFile, err)
	}
	return laws, trace, nil
}

// readData reads a file in the folder of --data.
func readData[T any](folder, name string, parse func(io.Reader) ([]T, error)) ([]T, error) {
	path := filepath.Join(folder, name)
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--data must be the folder with %s of Qore-DL: %w", name, err)
	}
	defer func() { _ = file.Close() }()
	rows, err := parse(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}
