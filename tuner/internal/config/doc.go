// Package config is the tuner's command line. Each flag has a twin in the environment: --listen is TRELLIS_LISTEN.
package config
