// Package gpushare defines the user's API: the annotations that request a share of a GPU, their valid values, and the
// error messages for invalid ones.
//
// All binaries parse a pod's annotations with Parse, so each annotation has one meaning. The admission policies under
// deploy/ reject the same invalid values earlier, in CEL. Parse also rejects them, because a pod may have been created
// before the policies were installed.
package gpushare
