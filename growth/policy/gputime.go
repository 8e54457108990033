package policy

import (
	"fmt"
	"strconv"
)

// GPUTime says whether a node divides the time of its GPUs by turns.
type GPUTime string

const (
	// GPUTimeAuto divides it if the node's GPUs compute: if they are not emulated, or emulated on a core of the node.
	GPUTimeAuto GPUTime = "auto"
	// GPUTimeOn always divides it.
	GPUTimeOn GPUTime = "on"
	// GPUTimeOff divides the CPU only.
	GPUTimeOff GPUTime = "off"
)

// ParseGPUTime parses a value of --gpu-time. In earlier releases it was a boolean.
func ParseGPUTime(text string) (GPUTime, error) {
	if t := GPUTime(text); t.Validate() == nil {
		return t, nil
	}
	on, err := strconv.ParseBool(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("gpu-time %q: %s, %s or %s", text, GPUTimeAuto, GPUTimeOn, GPUTimeOff)
	case on:
		return GPUTimeOn, nil
	}
	return GPUTimeOff, nil
}

// Validate returns an error for a value that is not one of the constants. Empty means GPUTimeAuto.
func (g GPUTime) Validate() error {
	switch g {
	case "", GPUTimeAuto, GPUTimeOn, GPUTimeOff:
		return nil
	}
	return fmt.Errorf("gpu-time %q: %s, %s or %s", string(g), GPUTimeAuto, GPUTimeOn, GPUTimeOff)
}

// Divides reports whether the time of GPUs is divided, if they compute or not.
func (g GPUTime) Divides(compute bool) bool { return g == GPUTimeOn || g != GPUTimeOff && compute }
