package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/trellis-gpu/trellis/benchmarks/internal/extenderbench"
	"github.com/trellis-gpu/trellis/benchmarks/internal/nullextender"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

func extenderCommand(commit string) *cobra.Command {
	var o extenderbench.Options
	var out string
	var check bool
	cmd := &cobra.Command{
		Use:   "extender",
		Short: "What the extender costs, compared with one that does nothing",
		Long: `extender measures the extender binary in this program's folder, on a stock etcd, API server and scheduler that it starts
(bin/local build --only controlplane builds them), and writes every figure with its goal. The tail of service times depends
on the machine too: a turn of requests is repeated (--attempts) if other programs used much of the machine, and the tail of
all attempts is reported too. It needs no root, but only root can keep processors awake between two requests; on a virtual
machine with sleeping processors the tail is longer.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out = cmd.ErrOrStderr()
			for _, part := range o.Only {
				if !strings.Contains(" "+strings.Join(extenderbench.Parts(), " ")+" ", " "+part+" ") {
					return fmt.Errorf("--only %q is none of %s", part, strings.Join(extenderbench.Parts(), ", "))
				}
			}
			if o.Stock == "" {
				return errors.New("--stock-dir must name the folder with etcd, kube-apiserver and kube-scheduler: bin/local build --only controlplane prints it")
			}
			if o.Attempts < 1 {
				return fmt.Errorf("--attempts %d must be at least 1", o.Attempts)
			}
			if o.Binaries == "" {
				self, err := os.Executable()
				if err != nil {
					return err
				}
				o.Binaries = filepath.Dir(self)
			}
			measured, phases, err := extenderbench.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			summary := results.Summary{
				Name: "extender", Quick: o.Quick, Commit: commit, Date: time.Now().UTC(), Machine: results.ThisMachine(nil), Seeds: []uint32{uint32(o.Seed)},
				Command: results.Command("bench-extender", cmd.Flags(), "stock-dir", "bin", "out"), Settings: o.Settings(), Goals: measured.Goals(), Phases: phases, Details: measured,
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
	f.StringVar(&o.Stock, "stock-dir", "", "folder with etcd, kube-apiserver and kube-scheduler")
	f.StringVar(&o.Binaries, "bin", "", "folder with the extender (default: this program's own)")
	f.StringSliceVar(&o.Only, "only", nil, "parts to measure: "+strings.Join(extenderbench.Parts(), ", ")+" (default: all)")
	f.BoolVar(&o.Quick, "quick", false, "fewer nodes, pods and rounds: shows that the benchmark works")
	f.Uint64Var(&o.Seed, "seed", 1, "determines the requests")
	f.IntVar(&o.Attempts, "attempts", 6, "highest number of attempts per turn of service times, until the hypervisor takes no more than 1 % of the machine meanwhile, and the API server no more than 10 % of a core")
	f.StringVar(&out, "out", "benchmarks/results/extender.json", "file for the figures")
	f.BoolVar(&check, "check", false, "fail if a goal is missed")
	return cmd
}

// nullCommand runs the null extender as a process of its own. The benchmark starts it.
func nullCommand() *cobra.Command {
	var listen, kubeconfig string
	cmd := &cobra.Command{
		Use: "null-extender", Short: "The extender that does nothing, for comparisons", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return err
			}
			config.QPS, config.Burst = 200, 400 // the extender's defaults
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return err
			}
			mux := http.NewServeMux()
			mux.Handle("/", nullextender.Handler(client))
			mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
			return serveUntil(cmd.Context(), listen, mux)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address that kube-scheduler calls")
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file of the API server")
	return cmd
}

func serveUntil(ctx context.Context, address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
