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

// runs digests what a pod's containers run, in its namespace: of another one nothing is learned, its owner may lie. Numbers
// are told apart from that, and so is what the environment says, which names a run as often as it says what to do.
func runs(p *corev1.Pod) (digested string, numbers []string) {
	plain := []string{p.Namespace}
	note := func(n string) string {
		if len(numbers) < mostNumbers {
			numbers = append(numbers, n[:min(len(n), longest)])
		}
		return "#"
	}
	for _, c := range p.Spec.Containers {
		plain = append(plain, c.Image)
		for _, words := range [][]string{c.Command, c.Args} {
			plain = append(plain, fmt.Sprint(len(words)))
			for _, word := range words {
				plain = append(plain, number.ReplaceAllStringFunc(word, note))
			}
		}
	}
	for _, c := range p.Spec.Containers {
		for _, e := range c.Env {
			plain = append(plain, e.Name)
			note(setting(e))
		}
		for _, e := range c.EnvFrom {
			note(digest(e.String()))
		}
	}
	return digest(plain...), numbers
}

// setting is what an environment variable says: a number, or the digest of anything else, for it may be a secret.
func setting(e corev1.EnvVar) string {
	if number.FindString(e.Value) == e.Value && e.ValueFrom == nil {
		return e.Value
	}
	return digest(e.Value, e.ValueFrom.String())
}

func digest(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:8])
}
