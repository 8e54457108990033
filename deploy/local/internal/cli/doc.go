// Package cli is the `local` command: flags, and the function of package cluster or stock behind each subcommand.
//
// Every flag --some-thing may also be given as TRELLIS_SOME_THING; the flag wins. Progress and results go to standard
// output, errors to standard error; the exit code is 0 or 1.
package cli
