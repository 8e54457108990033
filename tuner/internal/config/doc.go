// Package config is the configuration of the tuner: its flags, their defaults, and what is invalid.
package config
