// Package cli is the command line of the benchmarks: flags, their environment twins, and what goes to which screen.
//
// Every flag --x-y can be given as TRELLIS_X_Y; --kubeconfig as KUBECONFIG, as everywhere.
package cli
