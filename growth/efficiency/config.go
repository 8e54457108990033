package efficiency

import "fmt"

// Config are the classifier's parameters. The zero value of each means its default.
type Config struct {
	// Alpha is the growth below which a sample is low, 0 < Alpha < 1. Default 0.05.
	Alpha float64
	// LowSamples is how many low samples in a row move a job down, at least 1. Default 2.
	LowSamples int
	// Return times Alpha is the growth above which a job is Progressing again, at least 1. Default 1.5.
	ReturnFactor float64
	// Smoothing is the weight of the newest sample, 0 < Smoothing ≤ 1. Default 0.3.
	Smoothing float64
	// PeakDecay is what a sample leaves of the peak, 0 < Forgetting ≤ 1. Default 0.999.
	PeakDecay float64
	// MinCores is the least CPU use that efficiency is computed with, in cores, so that a job which waits does not
	// look infinitely efficient. Default 0.05.
	MinCores float64
}

func (c Config) withDefaults() Config {
	for _, field := range []struct {
		value *float64
		fresh float64
	}{{&c.Alpha, 0.05}, {&c.ReturnFactor, 1.5}, {&c.Smoothing, 0.3}, {&c.PeakDecay, 0.999}, {&c.MinCores, 0.05}} {
		if *field.value == 0 {
			*field.value = field.fresh
		}
	}
	if c.LowSamples == 0 {
		c.LowSamples = 2
	}
	return c
}

// Validate names the first parameter that is out of bounds.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case !(c.Alpha > 0 && c.Alpha < 1):
		return fmt.Errorf("alpha %g: a part of the job's own peak growth, more than 0 and less than 1", c.Alpha)
	case c.LowSamples < 1:
		return fmt.Errorf("%d strikes: at least 1", c.LowSamples)
	case !(c.ReturnFactor >= 1 && c.ReturnFactor*c.Alpha < 1):
		return fmt.Errorf("return factor %g: at least 1, and below 1/alpha", c.ReturnFactor)
	case !(c.Smoothing > 0 && c.Smoothing <= 1):
		return fmt.Errorf("smoothing %g: more than 0, at most 1", c.Smoothing)
	case !(c.PeakDecay > 0 && c.PeakDecay <= 1):
		return fmt.Errorf("forgetting %g: more than 0, at most 1", c.PeakDecay)
	case !(c.MinCores > 0):
		return fmt.Errorf("idle cores %g: more than 0", c.MinCores)
	}
	return nil
}
