// Package records reads the records of the bus. The extender and the tuner of a large cluster read a hundred samples of jobs in each
// second, and encoding/json before Go 1.27 takes more than twice as long for each of them as the implementation that is the default
// since then. This package uses its mirror. Once the modules need Go 1.27, bus.Read with json.Unmarshal is the same.
package records
