//go:build race

package modelcheck

// defaultTotal is smaller under the race detector. The tests are then about ten times slower, and the detector finds nothing
// in one goroutine.
const defaultTotal = 4_000
