//go:build linux

package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/trellis-gpu/trellis/deploy/local/internal/cluster"
	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// Namespace holds all of Trellis.
const Namespace = "trellis"

// Wish is the installation that somebody wants.
type Wish struct {
	Root state.Root
	Name string // the cluster
	// Repository is the folder with go.work.
	Repository string
	// Programs holds the four binaries. Empty: they are built.
	Programs string
	Settings Settings
	// Patience is how long the wait for everything to be Ready may take.
	Patience time.Duration
}

// Validate names the first thing that is wrong.
func (w Wish) Validate() error {
	if w.Patience <= 0 {
		return fmt.Errorf("--wait %s: give a time, such as 5m", w.Patience)
	}
	return errors.Join(w.Root.Validate(), w.Settings.Validate())
}

// Install puts Trellis into the cluster, or brings what is there up to date. Progress is written to out for a person.
func (w Wish) Install(ctx context.Context, out io.Writer) error {
	begin := time.Now()
	record, err := w.Root.Cluster(w.Name).Read()
	if err != nil {
		return fmt.Errorf("cluster %s: %w (local up --name %s)", w.Name, err, w.Name)
	}
	k := kubectl{program: filepath.Join(record.Stock, "kubectl"), kubeconfig: w.Root.Cluster(w.Name).Kubeconfig("admin")}

	programs, err := w.programs(ctx, out)
	if err != nil {
		return err
	}
	images, err := Images(filepath.Join(w.Repository, "bin", "images"), programs, record.Stock, out)
	if err != nil {
		return err
	}
	if err := cluster.Load(ctx, w.Root, w.Name, tars(images), out); err != nil {
		return err
	}
	authority, err := k.ensureSecrets(ctx, filepath.Join(w.Repository, "deploy", "base", "namespace.yaml"), time.Now(), out)
	if err != nil {
		return err
	}
	if err := k.applyOverlay(ctx, w.overlay(), Rendering{Images: images, Settings: w.Settings, Authority: authority}); err != nil {
		return err
	}
	if err := k.waitReady(ctx, w.Patience, out); err != nil {
		return err
	}
	fmt.Fprintf(out, "Trellis is installed after %s\n", time.Since(begin).Round(time.Second))
	return k.describe(ctx, w.Name, out)
}

// Uninstall removes Trellis from the cluster. Jobs that run go on; their GPU memory is no longer accounted.
func (w Wish) Uninstall(ctx context.Context, out io.Writer) error {
	record, err := w.Root.Cluster(w.Name).Read()
	if err != nil {
		return fmt.Errorf("cluster %s: %w", w.Name, err)
	}
	k := kubectl{program: filepath.Join(record.Stock, "kubectl"), kubeconfig: w.Root.Cluster(w.Name).Kubeconfig("admin")}
	if _, err := k.run(ctx, nil, "delete", "--ignore-not-found", "-k", w.overlay()); err != nil {
		return err
	}
	fmt.Fprintf(out, "Trellis is removed from cluster %s\n", w.Name)
	return nil
}

func (w Wish) overlay() string { return filepath.Join(w.Repository, "deploy", "local", "overlay") }

// Images writes every image that a local Trellis consists of into folder, unless it is there.
func Images(folder, programs, stock string, out io.Writer) ([]image.Written, error) {
	catalogue, err := image.Catalogue(programs, stock)
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
