// Package race says whether the race detector is on, which makes a program five to twenty times slower. Tests that compute for long in
// one goroutine, or in goroutines that share nothing, do less with it or are skipped. scripts/test runs each package that imports this
// one a second time, without the detector. The modules growth and benchmarks have one each: it is for tests, and no module's API.
package race
