// Package config defines the device plugin's configuration: flags, defaults and validation.
package config
