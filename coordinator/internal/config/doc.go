// Package config defines the coordinator's flags, their defaults and their validation.
package config
