//go:build race

package model

// defaultTotal is less under the race detector, which is about ten times slower and has nothing to find here: all is one
// goroutine. The other run of the same tests takes the whole number.
const defaultTotal = 4_000
