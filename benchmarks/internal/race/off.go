//go:build !race

package race

// Enabled is set in programs that were built with -race.
const Enabled = false
