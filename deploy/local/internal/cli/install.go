//go:build linux

package cli

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
	"github.com/trellis-gpu/trellis/deploy/local/internal/localinstall"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
	"github.com/trellis-gpu/trellis/deploy/local/internal/stock"
	"github.com/trellis-gpu/trellis/growth/policy"
)

func installCommand() *cobra.Command {
	var f flags
	var options localinstall.Options
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install or update Trellis in a cluster, and wait until it is ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Root, options.Name = state.Root(f.root), f.name
			var err error
			if options.Repository, err = stock.Repository(); err != nil {
				return err
			}
			if err := options.Validate(); err != nil {
				return err
			}
			if _, err := f.read(); err != nil {
				return err
			}
			return options.Install(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f.addName(cmd.Flags())
	cmd.Flags().StringVar(&options.Binaries, "bin-dir", "", "folder of the four binaries, which are not built then")
	cmd.Flags().StringSliceVar(&options.Components, "component", nil, "component of deploy/components to add; may be repeated")
	cmd.Flags().StringVar(&options.Settings.GPUs, "gpus", "emulated:2x24GiB", `GPUs of each node: "nvml", "emulated:<n>x<m>GiB", or "emulated:<n>x<m>GiB,compute" where each owns a core of the node`)
	cmd.Flags().StringVar(&options.Settings.Policy, "policy", string(policy.Default), "policy of the coordinator for the CPU of a node")
	cmd.Flags().StringVar(&options.Settings.Objective, "objective", "", "what policy harmless spends slack on: finish, balanced, growth, or a number from 0 to 1 (default: the coordinator's)")
	cmd.Flags().DurationVar(&options.Settings.Interval, "interval", policy.DefaultInterval, "longest time between two decisions of the coordinator")
	cmd.Flags().DurationVar(&options.Timeout, "wait", 5*time.Minute, "how long to wait until everything is ready")
	return cmd
}

func uninstallCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove Trellis from a cluster; running jobs continue",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := f.read(); err != nil {
				return err
			}
			repo, err := stock.Repository()
			if err != nil {
				return err
			}
			options := localinstall.Options{Root: state.Root(f.root), Name: f.name, Repository: repo}
			return options.Uninstall(cmd.Context(), cmd.OutOrStdout())
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
		Short: "Write the images of a cluster as tars, tagged by content, unless they exist",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := stock.Ensure(cmd.Context(), f.stockDir, stock.ControlPlane(), cmd.OutOrStdout())
			if err != nil {
				return err
			}
			images, err := localinstall.Images(out, bin, dir, cmd.ErrOrStderr())
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
