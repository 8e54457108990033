//go:build linux

package localinstall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/trellis-gpu/trellis/deploy/local/internal/binaries"
	"github.com/trellis-gpu/trellis/deploy/local/internal/cluster"
	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
	"github.com/trellis-gpu/trellis/deploy/local/internal/install"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// uninstallTimeout bounds the wait until the objects are gone.
const uninstallTimeout = 5 * time.Minute

// Options are the choices of one installation.
type Options struct {
	Root state.Root
	Name string // the cluster
	// Repository is the folder with go.work.
	Repository string
	// Binaries is the folder of the four binaries. Empty: they are built.
	Binaries string
	// Components are names of folders below deploy/components, in addition to those of the overlay.
	Components []string
	Settings   install.Settings
	// Timeout bounds the wait until everything is ready.
	Timeout time.Duration
}

// Validate returns an error that names the flag at fault.
func (o Options) Validate() error {
	if o.Timeout <= 0 {
		return fmt.Errorf("--wait %s: give a time, such as 5m", o.Timeout)
	}
	return errors.Join(o.Root.Validate(), o.config(state.Record{}).Validate())
}

// Install installs Trellis into the cluster, or updates the installation. Progress is written to out.
func (o Options) Install(ctx context.Context, out io.Writer) error {
	record, err := o.Root.Cluster(o.Name).Read()
	if err != nil {
		return fmt.Errorf("cluster %s: %w (local up --name %s)", o.Name, err, o.Name)
	}
	folder, err := binaries.Ensure(ctx, o.Repository, o.Binaries, out)
	if err != nil {
		return err
	}
	images, err := Images(filepath.Join(o.Repository, "bin", "images"), folder, record.Stock, out)
	if err != nil {
		return err
	}
	if err := cluster.Load(ctx, o.Root, o.Name, tars(images), out); err != nil {
		return err
	}
	config := o.config(record)
	config.Images = install.Written(images)
	if err := config.Install(ctx, out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "first job: local kubectl --name %s -- apply -f deploy/samples/job.yaml\n", o.Name)
	return err
}

// Uninstall removes Trellis from the cluster. Running jobs continue; their GPU memory is no longer accounted.
func (o Options) Uninstall(ctx context.Context, out io.Writer) error {
	record, err := o.Root.Cluster(o.Name).Read()
	if err != nil {
		return fmt.Errorf("cluster %s: %w", o.Name, err)
	}
	config := o.config(record)
	config.Timeout = uninstallTimeout
	return config.Uninstall(ctx, false, out)
}

func (o Options) config(record state.Record) install.Config {
	return install.Config{
		Kubectl: install.Kubectl{
			Program: filepath.Join(record.Stock, "kubectl"),
			Args:    []string{"--kubeconfig=" + o.Root.Cluster(o.Name).Kubeconfig("admin")},
		},
		Deploy:     filepath.Join(o.Repository, "deploy"),
		Overlay:    filepath.Join(o.Repository, "deploy", "local", "overlay"),
		Components: o.Components,
		Settings:   o.Settings,
		Renewal:    install.RenewWhenDue,
		Timeout:    o.Timeout,
	}
}

// Images writes the images of a local cluster into folder, unless they exist.
func Images(folder, binaries, stock string, out io.Writer) ([]image.Written, error) {
	catalogue, err := image.Catalogue(binaries, stock)
	if err != nil {
		return nil, err
	}
	images, err := image.WriteAll(folder, catalogue)
	for _, i := range images {
		if i.New {
			fmt.Fprintf(out, "wrote image %s\n", i.Ref())
		}
	}
	return images, err
}

func tars(images []image.Written) []string {
	paths := make([]string, len(images))
	for i, written := range images {
		paths[i] = written.Path
	}
	return paths
}
