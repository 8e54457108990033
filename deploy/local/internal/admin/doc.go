// Package admin is the `trellis` command, for the administrator of a cluster: it pushes the images to a registry, installs
// Trellis into the cluster that kubectl selects, and removes it again.
//
// Every flag --some-thing may also be given as the environment variable TRELLIS_SOME_THING; the flag wins. Progress goes to
// standard error and results to standard output; the exit code is 0 or 1.
package admin
