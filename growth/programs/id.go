package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Shared is the namespace of models that several namespaces share. No Kubernetes namespace has this name.
const Shared = "_"

// digestDigits is the length of a digest, maxNamespace that of a namespace.
const digestDigits, maxNamespace = 16, 63

// ID identifies a program in a namespace. The zero value is an unknown program.
type ID struct {
	Namespace string
	// Digest is that of the program and its evaluation function, the same in all namespaces.
	Digest string
}

// IDOf returns the ID of a program with its evaluation function; zero if program is empty.
func IDOf(namespace, program string) ID {
	if program == "" {
		return ID{}
	}
	sum := sha256.Sum256([]byte(program))
	return ID{Namespace: namespace, Digest: hex.EncodeToString(sum[:])[:digestDigits]}
}

// ParseID parses the result of ID.String.
func ParseID(text string) (ID, error) {
	namespace, digest, _ := strings.Cut(text, ":")
	if len(digest) != digestDigits || strings.Trim(digest, "0123456789abcdef") != "" {
		return ID{}, fmt.Errorf("program %.100q: the digest has %d hexadecimal digits", text, digestDigits)
	}
	id := ID{Namespace: namespace, Digest: digest}
	if namespace != Shared && !ValidNamespace(namespace) {
		return ID{}, fmt.Errorf("program %.100q: %.70q is not a namespace", text, namespace)
	}
	return id, nil
}

// ValidNamespace accepts labels of RFC 1123.
func ValidNamespace(name string) bool {
	return name != "" && len(name) <= maxNamespace && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// In returns the ID of the same program in another namespace.
func (id ID) In(namespace string) ID { return ID{Namespace: namespace, Digest: id.Digest} }

// String returns namespace:digest. It is empty for an unknown program.
func (id ID) String() string {
	if id == (ID{}) {
		return ""
	}
	return id.Namespace + ":" + id.Digest
}

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id = ID{}
	if len(text) > 0 {
		*id, err = ParseID(string(text))
	}
	return err
}
