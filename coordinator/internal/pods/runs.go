package pods

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
)

// number is what differs between runs of one program: seeds, sizes, rates, the names of their outputs.
var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`)

// runs digests the namespace, and each container's image, command and arguments without their numbers. Of another namespace
// nothing is learned: its owner may lie.
func runs(p *corev1.Pod) string {
	digest := sha256.New()
	write := func(parts ...string) { _, _ = fmt.Fprintf(digest, "%q\n", parts) } // which never fails
	write(p.Namespace)
	for _, c := range p.Spec.Containers {
		write(c.Image)
		for _, words := range [][]string{c.Command, c.Args} {
			plain := make([]string, len(words))
			for i, word := range words {
				plain[i] = number.ReplaceAllString(word, "#")
			}
			write(plain...)
		}
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}
