// Package e2e brings local clusters up and down, and checks that nothing is left. Its tests carry the build tag e2e and
// need root, and the stock programs: `bin/local build` makes them, or TRELLIS_STOCK_DIR names a folder of ready ones.
package e2e
