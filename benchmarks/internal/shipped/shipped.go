// Package shipped has the settings of deploy/base that benchmarks of single binaries give them. Its test compares all
// settings that benchmarks choose with the manifests, so that the measured settings are the shipped ones.
//
// Benchmarks on a cluster read the settings from it: see cluster.Connection.Settings.
package shipped

// The garbage collector's percentage of two binaries.
const (
	ExtenderGOGC     = "50"
	DevicepluginGOGC = "75"
)
