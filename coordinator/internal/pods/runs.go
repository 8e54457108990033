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

// mostNumbers bounds the numbers that are kept of a pod, longest the digits of each.
const mostNumbers, longest = 64, 32

// runs digests the namespace, and each container's image, command and arguments without their numbers, and returns these, too.
// Of another namespace nothing is learned: its owner may lie.
func runs(p *corev1.Pod) (digested string, numbers []string) {
	digest := sha256.New()
	write := func(parts ...string) { _, _ = fmt.Fprintf(digest, "%q\n", parts) } // which never fails
	write(p.Namespace)
	for _, c := range p.Spec.Containers {
		write(c.Image)
		for _, words := range [][]string{c.Command, c.Args} {
			plain := make([]string, len(words))
			for i, word := range words {
				plain[i] = number.ReplaceAllStringFunc(word, func(n string) string {
					if len(numbers) < mostNumbers {
						numbers = append(numbers, n[:min(len(n), longest)])
					}
					return "#"
				})
			}
			write(plain...)
		}
	}
	return hex.EncodeToString(digest.Sum(nil)[:8]), numbers
}
