package jobkind

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// number matches the parts of a command that differ between runs of one program: seeds, sizes, rates, names of outputs.
var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`)

// maxNumbers bounds the count of numbers that are kept for a pod, maxDigits the length of each.
const maxNumbers, maxDigits = 64, 32

// Program identifies the program of a pod: a digest of the images and commands of its containers, without numbers. The
// digest includes the namespace: namespaces do not trust each other, so nothing is learned across them, unless an administrator
// shares them. anywhere is a digest of the same without the namespace. Numbers and values of environment variables differ
// between runs, and are returned separately.
func Program(p *corev1.Pod) (id, anywhere string, numbers []string) {
	plain := []string{p.Namespace}
	note := func(n string) string {
		if len(numbers) < maxNumbers {
			numbers = append(numbers, n[:min(len(n), maxDigits)])
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
			if slices.Contains(gpushare.ThreadVariables(), e.Name) {
				continue // admission sets it by the CPU request, which differs between runs
			}
			plain = append(plain, e.Name)
			note(valueOf(e))
		}
		for _, e := range c.EnvFrom {
			note(Digest(e.String()))
		}
	}
	return Digest(plain...), Digest(plain[1:]...), numbers
}

// valueOf returns the value of an environment variable if it is a number, or else its digest, since it may be a secret.
func valueOf(e corev1.EnvVar) string {
	if number.FindString(e.Value) == e.Value && e.ValueFrom == nil {
		return e.Value
	}
	return Digest(e.Value, e.ValueFrom.String())
}

// Digest returns the first 8 bytes of a SHA-256 hash in hexadecimal.
func Digest(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:8])
}
