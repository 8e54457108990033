// Package cli is the `local` command: flags and their environment twins, and which function of package cluster or
// stock answers which subcommand.
//
// Every flag --some-thing may also be given as TRELLIS_SOME_THING; the flag wins. Progress and results go to standard
// output, errors to standard error; the exit code is 0 or 1.
package cli
