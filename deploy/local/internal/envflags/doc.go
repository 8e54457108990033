// Package envflags lets every flag of a command be given as an environment variable.
package envflags
