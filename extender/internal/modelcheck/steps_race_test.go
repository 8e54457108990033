//go:build race

package modelcheck

// defaultTotal is smaller under the race detector: the tests are then about ten times slower, and in a single goroutine there
// are no races to find.
const defaultTotal = 4_000
