package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpuhealth"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// resourcePattern matches an extended resource: domain/name.
const resourcePattern = `^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`

// Validate implements daemon.Config. A dry run needs no bus.
func (c *Config) Validate() error {
	var invalid []error
	if c.Node == "" {
		invalid = append(invalid, errors.New("--node-name is missing: in a DaemonSet, set NODE_NAME from spec.nodeName"))
	}
	if _, ok, err := gpu.ParseEmulated(c.GPUs, ""); err != nil {
		invalid = append(invalid, fmt.Errorf("--gpus: %w", err))
	} else if !ok && c.GPUs != gpu.NVML {
		invalid = append(invalid, fmt.Errorf("--gpus: %q is neither nvml nor emulated:<count>x<memory>[,compute][@numa=<node>,...]", c.GPUs))
	}
	if _, err := c.Unit(); err != nil {
		invalid = append(invalid, err)
	}
	if ok, _ := regexp.MatchString(resourcePattern, c.Resource); !ok {
		invalid = append(invalid, fmt.Errorf("--resource: %q is not an extended resource such as %s", c.Resource, gpushare.Resource))
	}
	invalid = append(invalid, c.validatePaths(), c.validateChoices(), c.validateHealth())
	if !c.DryRun {
		invalid = append(invalid, c.Etcd.Validate())
	}
	return errors.Join(invalid...)
}

func (c *Config) validatePaths() error {
	var invalid []error
	for dir := range strings.SplitSeq(c.PluginDir, ",") {
		if !filepath.IsAbs(dir) {
			invalid = append(invalid, fmt.Errorf("--plugin-dir: %q is not an absolute path", dir))
		}
	}
	for _, flag := range []struct{ name, path string }{
		{"pod-resources", c.PodResources},
		{"state-dir", c.StateDir},
		{"cdi-dir", c.CDIDir},
		{"driver-root", c.DriverRoot},
		{"proc", c.Proc},
	} {
		if !filepath.IsAbs(flag.path) {
			invalid = append(invalid, fmt.Errorf("--%s: %q is not an absolute path", flag.name, flag.path))
		}
	}
	return errors.Join(invalid...)
}

func (c *Config) validateChoices() error {
	var invalid []error
	for _, flag := range []struct {
		name, value string
		choices     []string
	}{
		{"delivery", c.Delivery, []string{DeliverEnv, DeliverCDI}},
		{"sharing", c.Sharing, []string{ShareByTime, ShareByMPS}},
		{"mps-threads", c.MPSThreads, []string{ThreadsByCores, ThreadsByShare}},
		{"on-excess", c.OnExcess, []string{ExcessWarn, ExcessEvict}},
		{"output", c.Output, []string{OutputText, OutputJSON}},
	} {
		if !slices.Contains(flag.choices, flag.value) {
			invalid = append(invalid, fmt.Errorf("--%s: %q is neither %s", flag.name, flag.value, strings.Join(flag.choices, " nor ")))
		}
	}
	if c.Sharing == ShareByMPS && c.GPUs != gpu.NVML {
		invalid = append(invalid, errors.New("--sharing=mps: emulated GPUs have no MPS"))
	}
	if c.MPSThreads == ThreadsByShare && c.Sharing != ShareByMPS {
		invalid = append(invalid, errors.New("--mps-threads=share: only with --sharing=mps"))
	}
	return errors.Join(invalid...)
}

func (c *Config) validateHealth() error {
	var invalid []error
	if _, err := gpuhealth.ParsePolicy(c.XIDPolicy); err != nil {
		invalid = append(invalid, fmt.Errorf("--xid-policy: %w", err))
	}
	if _, err := gpushare.ParseMemory(c.ExcessSlack); err != nil {
		invalid = append(invalid, fmt.Errorf("--excess-slack: %q %w", c.ExcessSlack, err))
	}
	if c.RecoverAfter <= 0 || c.LossAfter <= 0 {
		invalid = append(invalid, errors.New("--recover-after and --loss-after must be positive"))
	}
	return errors.Join(invalid...)
}

// Unit returns the GPU memory of one device.
func (c *Config) Unit() (growth.MiB, error) {
	unit, err := gpushare.ParseMemory(c.MemoryUnit)
	if err != nil {
		return 0, fmt.Errorf("--memory-unit: %q %w", c.MemoryUnit, err)
	}
	return unit, nil
}
