// Package config is what the extender can be told: flags, their environment twins (--listen is TRELLIS_LISTEN), and
// what makes no sense.
package config
