// Package programtest has the tests that every binary runs.
package programtest
