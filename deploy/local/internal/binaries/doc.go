// Package binaries builds the four programs of the project, in the form that the images hold.
package binaries
