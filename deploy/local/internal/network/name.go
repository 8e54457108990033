package network

import (
	"fmt"
	"hash/fnv"
	"regexp"
)

// maxName keeps unix socket paths below the state folder within the kernel's 107 bytes.
const maxName = 24

var nameForm = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)

// ValidateName says whether name may name a cluster. It becomes part of file, cgroup and interface names.
func ValidateName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a cluster needs a name (--name)")
	case len(name) > maxName:
		return fmt.Errorf("cluster name %q has %d characters, at most %d are possible", name, len(name), maxName)
	case !nameForm.MatchString(name):
		return fmt.Errorf("cluster name %q: use lower-case letters, digits and '-', a letter first and no '-' last", name)
	}
	return nil
}

// digest is short enough for an interface name (15 characters) and depends on the whole cluster name.
func digest(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()
}

// BridgeName is the name of the cluster's bridge on the host.
func BridgeName(cluster string) string { return fmt.Sprintf("tl-%08x", digest(cluster)) }

// CableName is the host's end of the cable to node i.
func CableName(cluster string, i int) string { return fmt.Sprintf("%s%d", CablePrefix(cluster), i) }

// CablePrefix begins the name of every cable of the cluster, and of no other.
func CablePrefix(cluster string) string { return fmt.Sprintf("tv%08xn", digest(cluster)) }
