package efficiency

import "fmt"

// Config holds the parameters of the classifier. A zero field means its default.
type Config struct {
	// Alpha is the growth below which a sample is low, 0 < Alpha < 1. Default 0.05.
	Alpha float64
	// LowSamples is the number of consecutive low samples that demote a job, at least 1. Default 2.
	LowSamples int
	// ReturnFactor times Alpha is the growth above which a job is Progressing again. It is at least 1. Default 1.5.
	ReturnFactor float64
	// Smoothing is the weight of the newest sample in the smoothed metric, 0 < Smoothing ≤ 1. Default 0.3.
	Smoothing float64
	// PeakDecay is the factor by which the peak decays per sample, 0 < PeakDecay ≤ 1. Default 0.999.
	PeakDecay float64
	// MinCores is a lower bound of the CPU usage, in cores. Without it, a waiting job would look infinitely efficient.
	// Default 0.05.
	MinCores float64
}

func (c Config) withDefaults() Config {
	for _, field := range []struct {
		value        *float64
		defaultValue float64
	}{
		{&c.Alpha, 0.05},
		{&c.ReturnFactor, 1.5},
		{&c.Smoothing, 0.3},
		{&c.PeakDecay, 0.999},
		{&c.MinCores, 0.05},
	} {
		if *field.value == 0 {
			*field.value = field.defaultValue
		}
	}
	if c.LowSamples == 0 {
		c.LowSamples = 2
	}
	return c
}

// Validate returns an error for the first parameter that is out of bounds.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case !(c.Alpha > 0 && c.Alpha < 1):
		return fmt.Errorf("alpha %g: a fraction of the job's own peak growth, more than 0 and less than 1", c.Alpha)
	case c.LowSamples < 1:
		return fmt.Errorf("low samples %d: at least 1", c.LowSamples)
	case !(c.ReturnFactor >= 1 && c.ReturnFactor*c.Alpha < 1):
		return fmt.Errorf("return factor %g: at least 1, and below 1/alpha", c.ReturnFactor)
	case !(c.Smoothing > 0 && c.Smoothing <= 1):
		return fmt.Errorf("smoothing %g: more than 0, at most 1", c.Smoothing)
	case !(c.PeakDecay > 0 && c.PeakDecay <= 1):
		return fmt.Errorf("peak decay %g: more than 0, at most 1", c.PeakDecay)
	case !(c.MinCores > 0):
		return fmt.Errorf("minimum cores %g: more than 0", c.MinCores)
	}
	return nil
}
