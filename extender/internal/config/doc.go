// Package config defines the extender's configuration: flags, defaults and validation.
package config
