// Package programtest tests what every binary has in common.
package programtest
