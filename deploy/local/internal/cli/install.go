//go:build linux

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
	"github.com/trellis-gpu/trellis/deploy/local/internal/install"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
	"github.com/trellis-gpu/trellis/deploy/local/internal/stock"
	"github.com/trellis-gpu/trellis/growth/policy"
)

func installCommand() *cobra.Command {
	var f flags
	var wish install.Wish
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Put Trellis into a cluster, or bring it up to date, and wait until it is ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wish.Root, wish.Name = state.Root(f.root), f.name
			if err := wish.Validate(); err != nil {
				return err
			}
			if _, err := f.read(); err != nil {
				return err
			}
			var err error
			if wish.Repository, err = repository(); err != nil {
				return err
			}
			return wish.Install(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f.addName(cmd.Flags())
	cmd.Flags().StringVar(&wish.Programs, "bin-dir", "", "folder with the four binaries; nothing is built then")
	cmd.Flags().StringVar(&wish.Settings.GPUs, "gpus", "emulated:2x24GiB", `GPUs of each node: "nvml", or "emulated:<n>x<m>GiB"`)
	cmd.Flags().StringVar(&wish.Settings.Policy, "policy", string(policy.Default), "how the coordinator shares a node's CPU among its jobs")
	cmd.Flags().StringVar(&wish.Settings.Objective, "objective", "", "what policy harmless spends slack on: finish, balanced, growth, or a number from 0 to 1 (default: the coordinator's)")
	cmd.Flags().DurationVar(&wish.Settings.Interval, "interval", policy.DefaultInterval, "how often the coordinator decides at least")
	cmd.Flags().DurationVar(&wish.Patience, "wait", 5*time.Minute, "how long to wait until everything is ready")
	return cmd
}

func uninstallCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove Trellis from a cluster; its jobs go on without it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := f.read(); err != nil {
				return err
			}
			repo, err := repository()
			if err != nil {
				return err
			}
			wish := install.Wish{Root: state.Root(f.root), Name: f.name, Repository: repo}
			return wish.Uninstall(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f.addName(cmd.Flags())
	return cmd
}

func imageCommand() *cobra.Command {
	var f flags
	var bin, out string
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Write the images that a cluster runs as tars, tagged by content; unchanged ones are left alone",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := ensureStock(cmd, f.stockDir, stock.ControlPlane())
			if err != nil {
				return err
			}
			images, err := install.Images(out, bin, dir, cmd.ErrOrStderr())
			printImages(cmd, images)
			return err
		},
	}
	f.addStock(cmd.Flags())
	cmd.Flags().StringVar(&bin, "bin-dir", "bin", "folder with the four binaries")
	cmd.Flags().StringVar(&out, "out", filepath.Join("bin", "images"), "folder to write to")
	return cmd
}

func printImages(cmd *cobra.Command, images []image.Written) {
	for _, written := range images {
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", written.Ref(), written.Path)
	}
}

func certsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "certs",
		Short: "Print Secrets with new certificates for the state bus, for kubectl apply",
		Long: `certs makes a certificate authority, a server certificate for the bus and a client certificate for each
binary, and prints them as Kubernetes Secrets. The authority's key is not kept: to renew, apply new
ones and restart everything in the namespace trellis. They are good for a year.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			secrets, err := install.NewSecrets(time.Now())
			if err != nil {
				return err
			}
			manifest, err := secrets.Manifest()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", manifest)
			return err
		},
	}
}

// repository finds the folder with go.work: above the present folder, or above this program.
func repository() (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	source, err := stock.FindSource(here, filepath.Dir(executable))
	if err != nil {
		return "", err
	}
	return filepath.Join(source, "..", ".."), nil
}
