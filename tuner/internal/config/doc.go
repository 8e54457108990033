// Package config defines the tuner's configuration: flags, defaults and validation.
package config
