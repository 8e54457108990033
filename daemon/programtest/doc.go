// Package programtest has the tests that every binary shares: the text of --help.
package programtest
