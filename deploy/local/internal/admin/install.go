package admin

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/deploy/local/internal/install"
)

// installOptions are the flags of `trellis install`.
type installOptions struct {
	targetFlags
	clusterFlags
	components     []string
	settings       install.Settings
	schedulerImage string
	etcdImage      string
	renew          bool
	skipChecks     bool
	dryRun         bool
	timeout        time.Duration
}

func installCommand() *cobra.Command {
	var o installOptions
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install or update Trellis in the cluster of the current kubeconfig",
		Long: `install creates the namespace, creates the certificates of the bus unless they exist, applies the
manifests of deploy/base with the images of the registry, and waits until everything is ready. It may
be repeated at any time: what changed is rolled out.`,
		Example: "  trellis install --registry HOST:PORT/PREFIX\n  trellis install --registry HOST:PORT/PREFIX --component file-progress --dry-run",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags := cmd.Flags()
	o.targetFlags.add(flags)
	o.clusterFlags.add(flags)
	flags.StringSliceVar(&o.components, "component", nil, "component of deploy/components to add; may be repeated")
	flags.StringVar(&o.settings.GPUs, "gpus", "", `GPUs of each node: "nvml", or "emulated:<n>x<m>GiB" to try Trellis without GPUs (default: the overlay's)`)
	flags.StringVar(&o.settings.Policy, "policy", "", "policy of the coordinator for the CPU of a node (default: the overlay's)")
	flags.StringVar(&o.settings.Objective, "objective", "", "what policy harmless spends slack on: finish, balanced, growth, or a number from 0 to 1 (default: the overlay's)")
	flags.DurationVar(&o.settings.Interval, "interval", 0, "longest time between two decisions of the coordinator (default: the overlay's)")
	flags.StringVar(&o.settings.KubeletRoot, "kubelet-root", "", "kubelet's --root-dir on the GPU nodes, if it is not /var/lib/kubelet")
	flags.StringVar(&o.schedulerImage, "kube-scheduler-image", "", "image of kube-scheduler (default: the registry's, else that of the cluster's control plane)")
	flags.StringVar(&o.etcdImage, "etcd-image", "", "image of etcd 3.6 (default: the registry's, else that of the cluster's control plane)")
	flags.BoolVar(&o.renew, "renew", false, "replace the certificates of the bus; all pods of Trellis restart")
	flags.BoolVar(&o.skipChecks, "skip-checks", false, "install although the cluster lacks something that Trellis needs")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print the manifests; do not change the cluster")
	flags.DurationVar(&o.timeout, "wait", 5*time.Minute, "how long to wait until everything is ready; 0s: do not wait")
	return cmd
}

func (o *installOptions) run(cmd *cobra.Command) error {
	config, err := o.config()
	if err != nil {
		return err
	}
	config.Components, config.Settings, config.Timeout = o.components, o.settings, o.timeout
	config.Check = install.CheckStrict
	if o.skipChecks {
		config.Check = install.CheckWarn
	}
	if o.renew {
		config.Renewal = install.RenewAlways
	}
	if err := config.Validate(); err != nil {
		return err
	}
	if err := o.complete(cmd, config.Repository()); err != nil {
		return err
	}
	chosen := map[string]string{"kube-scheduler": o.schedulerImage, "etcd": o.etcdImage}
	config.Images, err = install.ResolveImages(cmd.Context(), config.Kubectl, o.target, chosen, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if o.dryRun {
		manifests, err := config.Manifests(cmd.Context())
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(manifests)
		return err
	}
	if err := config.Install(cmd.Context(), cmd.OutOrStdout()); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), "first job: kubectl apply -f deploy/samples/python.yaml\n"+
		"kubectl gpushare explain|top|inspect: copy scripts/kubectl-gpushare into a folder on your PATH")
	return err
}

func uninstallCommand() *cobra.Command {
	var cluster clusterFlags
	var dryRun bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove Trellis from the cluster of the current kubeconfig; running jobs continue",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := cluster.config()
			if err != nil {
				return err
			}
			config.Timeout = timeout
			return config.Uninstall(cmd.Context(), dryRun, cmd.OutOrStdout())
		},
	}
	cluster.add(cmd.Flags())
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be deleted")
	cmd.Flags().DurationVar(&timeout, "wait", 5*time.Minute, "how long to wait until everything is removed; 0s: do not wait")
	return cmd
}
