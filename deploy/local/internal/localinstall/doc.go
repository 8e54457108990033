// Package localinstall installs Trellis into a local cluster: the manifests of deploy/base with the changes of
// deploy/local/overlay.
//
// [Options.Install] performs these steps, and may be repeated at any time:
//
//	programs     go build of the four binaries, unless their folder is given
//	images       one tar each, tagged by content, imported into every node
//	installation see package install
//
// Unchanged programs give the same tags, and the same tags no rollout.
package localinstall
