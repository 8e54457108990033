// Package config is the configuration of the extender: its flags, their defaults, and what is invalid.
package config
