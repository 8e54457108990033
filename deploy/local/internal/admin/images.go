package admin

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/deploy/local/internal/binaries"
	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
	"github.com/trellis-gpu/trellis/deploy/local/internal/registry"
	"github.com/trellis-gpu/trellis/deploy/local/internal/stock"
)

// imagesOptions are the flags of `trellis images`.
type imagesOptions struct {
	targetFlags
	binDir    string
	stockDir  string
	withStock bool
	dryRun    bool
	output    string
}

func imagesCommand() *cobra.Command {
	var o imagesOptions
	cmd := &cobra.Command{
		Use:   "images",
		Short: "Build the images and push them to a registry, without Docker",
		Long: `images builds the four binaries, makes an image of each and pushes the images to a registry. The same
source gives the same digests, and an image that the registry has already is not pushed again. The
images are for the architecture of this machine.

Credentials come from the configuration of Docker or Podman: docker login, podman login.`,
		Example: "  trellis images --registry HOST:PORT/PREFIX\n  trellis images --registry HOST:PORT/PREFIX --dry-run -o json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.add(cmd.Flags())
	cmd.Flags().StringVar(&o.binDir, "bin-dir", "", "folder of the four binaries, which are not built then")
	cmd.Flags().BoolVar(&o.withStock, "with-stock", false,
		"push the pinned kube-scheduler and etcd too, built from source, for clusters that cannot pull the upstream images")
	cmd.Flags().StringVar(&o.stockDir, "stock-dir", "", "folder of kube-scheduler and etcd, which are not built then")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "build the images and print their digests; do not connect to the registry")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "json: names, digests and sizes, for programs")
	return cmd
}

func (o *imagesOptions) run(cmd *cobra.Command) error {
	if o.output != "" && o.output != "json" {
		return fmt.Errorf("--output %q: only json is known", o.output)
	}
	repository, err := stock.Repository()
	if err != nil {
		return err
	}
	if err := o.complete(cmd, repository); err != nil {
		return err
	}
	images, err := o.images(cmd, repository)
	if err != nil {
		return err
	}
	report, err := o.target.Push(cmd.Context(), images, o.dryRun, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	return o.print(cmd, report)
}

func (o *imagesOptions) images(cmd *cobra.Command, repository string) ([]image.Image, error) {
	folder, err := binaries.Ensure(cmd.Context(), repository, o.binDir, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	images, err := image.Programs(folder)
	if err != nil || !o.withStock {
		return images, err
	}
	programs := slices.DeleteFunc(stock.ControlPlane(), func(p stock.Program) bool {
		return !slices.Contains(image.StockPrograms(), p.Name)
	})
	stockFolder, err := stock.Ensure(cmd.Context(), o.stockDir, programs, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	upstream, err := image.Stock(stockFolder)
	return append(images, upstream...), err
}

func (o *imagesOptions) print(cmd *cobra.Command, report registry.Report) error {
	out := cmd.OutOrStdout()
	if o.output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	for _, pushed := range report.Images {
		fmt.Fprintln(out, pushed.ByDigest(o.target))
	}
	return nil
}
