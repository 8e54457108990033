package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/submit"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/benchmarks/jobs"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// findImageWithin bounds the search for the local cluster's image.
const findImageWithin = 10 * time.Second

type submitOptions struct {
	source     source
	kubeconfig string
	namespace  string
	image      string
	python     string
	cpu        string
	dryRun     bool
	output     string
}

func submitCommand() *cobra.Command {
	var o submitOptions
	cmd := &cobra.Command{
		Use:   "submit FILE",
		Short: "Submit the jobs of a workload to a cluster at their times of arrival",
		Long: `submit creates a pod for each job of a workload when the job arrives, on the cluster of the kubeconfig, which should have Trellis
installed.

` + sourceHelp + `
A job of torchloader on several nodes becomes a job for each node, with its part of the batch and of the data loaders.
Jobs with the device "emulated" compute on the CPU.

Progress is printed to the standard error, and a report to the standard output. After an interrupt nothing more is submitted. What was
submitted stays, and the last line says how to delete it. With --dry-run the manifests are printed instead, or the jobs
with -o table.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.source.format, "format", "", "format of the file: "+strings.Join(workload.Formats(), ", ")+" (default: as its header)")
	f.Float64Var(&o.source.speedup, "speedup", 1, "jobs arrive so many times faster, and have so many times fewer steps")
	f.Uint64Var(&o.source.defaults.Seed, "seed", 1, "decides what the format leaves open: times of arrival and lengths of jobs")
	f.StringVar(&o.source.defaults.GPUMemory, "gpu-mem", "4Gi", "GPU memory of each job, where the format has none")
	f.StringVar(&o.cpu, "cpu", "150m", "CPU request of each job, where the format has none")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "the cluster (environment: KUBECONFIG; default: ~/.kube/config)")
	f.StringVarP(&o.namespace, "namespace", "n", "trellis-workload", "namespace of the jobs; it is created if it is missing")
	f.StringVar(&o.image, "image", "", "image of the jobs, with PyTorch and scikit-learn (default: that of a local cluster)")
	f.StringVar(&o.python, "python", "python3", "the image's interpreter, where --image is given")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the manifests and submit nothing")
	f.StringVarP(&o.output, "output", "o", "", "table, json or yaml (default: table; yaml with --dry-run)")
	return cmd
}

func (o *submitOptions) run(cmd *cobra.Command, file string) error {
	if err := o.validate(); err != nil {
		return err
	}
	list, err := o.source.load(file, cmd.InOrStdin())
	if err != nil {
		return err
	}
	s := submit.Submission{Jobs: list, Say: func(format string, values ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", values...) }}
	if s.Scripts, err = jobs.Scripts(); err != nil {
		return err
	}
	if s.Setup, s.Cluster, err = o.setup(cmd.Context()); err != nil {
		return err
	}
	if o.dryRun {
		return s.Manifests(cmd.OutOrStdout(), o.output)
	}
	s.Say("%d jobs arrive within %s in namespace %s", len(list), list[len(list)-1].Arrival.Round(time.Second), o.namespace)
	report, err := s.Do(cmd.Context())
	written := report.Write(cmd.OutOrStdout(), o.output)
	s.Say("%s", report.Rest())
	return errors.Join(err, written)
}

// validate checks the flags and completes them.
func (o *submitOptions) validate() error {
	var problems []error
	if o.output == "" {
		o.output = map[bool]string{true: "yaml", false: "table"}[o.dryRun]
	}
	if !slices.Contains([]string{"table", "json", "yaml"}, o.output) {
		problems = append(problems, fmt.Errorf("--output %q: table, json or yaml", o.output))
	}
	if wrong := validation.IsDNS1123Label(o.namespace); len(wrong) > 0 {
		problems = append(problems, fmt.Errorf("--namespace %q: %s", o.namespace, wrong[0]))
	}
	if _, err := gpushare.ParseMemory(o.source.defaults.GPUMemory); err != nil {
		problems = append(problems, fmt.Errorf("--gpu-mem %q %w", o.source.defaults.GPUMemory, err))
	}
	cpu, err := workload.ParseCPU(o.cpu)
	if err != nil {
		problems = append(problems, fmt.Errorf("--cpu %w", err))
	}
	o.source.defaults.CPU = cpu
	return errors.Join(problems...)
}

// setup returns the settings of all pods. It contacts the cluster only to find its image.
func (o *submitOptions) setup(ctx context.Context) (s training.Setup, c *cluster.Connection, err error) {
	s = training.Setup{
		Namespace: o.namespace,
		Run:       "submit-" + time.Now().UTC().Format("20060102-150405"),
		Image:     o.image,
		Python:    o.python,
	}
	if o.dryRun && o.image != "" {
		return s, nil, nil
	}
	if c, err = cluster.Connect(o.kubeconfig); err != nil || o.image != "" {
		return s, c, err
	}
	s.Python, s.MachineFolders = training.MachinePython, training.MachineFolders()
	s.Image, err = c.MachineImage(ctx, findImageWithin)
	return s, c, err
}
