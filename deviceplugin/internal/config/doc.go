// Package config is the configuration of the device plugin: its flags, their defaults, and what is invalid.
package config
