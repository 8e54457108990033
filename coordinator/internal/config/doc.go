// Package config is the configuration of the coordinator: its flags, their defaults, and what is invalid.
package config
