package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/devicebench"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

func devicepluginCommand(commit string) *cobra.Command {
	var o devicebench.Options
	var stock, out string
	var quick, check bool
	cmd := &cobra.Command{
		Use:   "deviceplugin",
		Short: "What the device plugin costs kubelet: latencies, the size of its list, memory",
		Long: `deviceplugin measures the device plugin's binary in this program's folder, with a fake kubelet, a fake API server and a stock
etcd (bin/local build --only controlplane builds it), and writes every figure with its goal. It needs no root and no GPU.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if stock == "" {
				return errors.New("--stock-dir must name the folder with etcd: bin/local build --only controlplane prints it")
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			o.Etcd, o.Plugin, o.Log = filepath.Join(stock, "etcd"), filepath.Join(filepath.Dir(self), "deviceplugin"), cmd.ErrOrStderr()
			if quick {
				o.Rounds, o.Churn = 1, 200
			}
			figures, err := devicebench.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			summary := results.Summary{
				Name: "deviceplugin", Quick: quick, Commit: commit, Date: time.Now().UTC(), Machine: results.ThisMachine(nil), Seeds: []uint32{},
				Command: results.Command("bench-deviceplugin", cmd.Flags(), "stock-dir", "out"), Settings: o.Settings(), Goals: figures.Goals(), Phases: []results.Phase{},
			}
			if err := errors.Join(summary.Write(out), results.Table(cmd.OutOrStdout(), summary.Goals)); err != nil {
				return err
			}
			if missed := summary.Missed(); check && len(missed) > 0 {
				return fmt.Errorf("%d goals were missed: %s", len(missed), strings.Join(missed, "; "))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&stock, "stock-dir", "", "folder with etcd")
	f.IntVar(&o.Rounds, "rounds", 5, "number of repetitions, each with new processes")
	f.IntVar(&o.Churn, "churn", 1000, "pods that are replaced in a round")
	f.BoolVar(&quick, "quick", false, "one round of 200 pods: shows that the benchmark works")
	f.StringVar(&out, "out", "benchmarks/results/deviceplugin.json", "file for the figures")
	f.BoolVar(&check, "check", false, "fail if a goal is missed")
	return cmd
}
