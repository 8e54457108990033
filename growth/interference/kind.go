package interference

import (
	"crypto/sha256"
	"encoding/hex"
)

// Kind identifies jobs that interfere alike: those of one program in one namespace. It is 16 hexadecimal digits, or
// empty if the program is unknown.
type Kind string

// kindDigits is the length of a Kind.
const kindDigits = 16

// KindOf returns the kind of a program, as package node identifies similar jobs. The namespace is part of it, so no
// namespace learns from the jobs of another.
func KindOf(namespace, program string) Kind {
	if program == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(namespace + "\x00" + program))
	return Kind(hex.EncodeToString(sum[:])[:kindDigits])
}

// Valid reports whether the kind is empty or has the form that KindOf returns.
func (k Kind) Valid() bool {
	if k == "" {
		return true
	}
	if len(k) != kindDigits {
		return false
	}
	for _, c := range []byte(k) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
