// Package config defines the coordinator's configuration: flags, defaults and validation.
package config
