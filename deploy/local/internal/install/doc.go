// Package install puts Trellis into a local cluster: the very manifests of deploy/base, by way of deploy/local/overlay.
//
// [Wish.Install] does, in order, and again as often as one likes:
//
//	programs     go build of the four binaries, unless their folder is given
//	images       a tar each, tagged by content, imported into every node
//	namespace    and in it the certificates of the bus; those that are good for another month are kept
//	manifests    kubectl apply of the overlay with the images' tags and the chosen settings
//	wait         until every workload is Ready, every GPU node advertises its memory, and admission answers
//
// What a step finds done it leaves alone: unchanged programs give the same tags, and the same tags no rollout.
//
// [NewSecrets] makes the bus's certificates for any cluster: one authority, whose key is thrown away after use, and one
// certificate per binary, whose common name is the binary's name. To renew them is to make all of them anew.
package install
