// Package install installs Trellis into a cluster: the manifests of deploy/base, or of an overlay above it.
//
// [Config.Install] performs these steps, and may be repeated at any time:
//
//	preflight     the version, the label of GPU nodes and the volume of the bus; nothing has been changed yet
//	namespace     and in it the certificates of the bus, unless they exist
//	manifests     kubectl apply of the overlay with the images, the components and the chosen settings. What the API server
//	              does not serve is left out, and a note says what is lost ([Capabilities])
//	wait          until every workload is ready, every GPU node offers its memory, and the admission policies are in force
//	prune         objects that an earlier installation applied and this one does not
//
// A step that finds its work done changes nothing: the same image digests give no rollout.
//
// [NewSecrets] creates the bus's certificates: one authority, whose key is discarded after use, and one certificate for
// each binary, whose common name is the binary's name. A renewal replaces all of them.
package install
