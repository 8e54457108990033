// Package cli is the command line of the benchmarks: flags with their environment variables, and the choice of a screen.
//
// Every flag --x-y can be set by TRELLIS_X_Y; --kubeconfig by KUBECONFIG.
package cli
