package network

import (
	"fmt"
	"hash/fnv"
	"regexp"
)

// maxName keeps unix socket paths below the state folder within the kernel's 107 bytes.
const maxName = 24

var nameForm = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)

// ValidateName checks the name of a cluster. It becomes part of file, cgroup and interface names.
func ValidateName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a cluster needs a name (--name)")
	case len(name) > maxName:
		return fmt.Errorf("cluster name %q has %d characters, at most %d are allowed", name, len(name), maxName)
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

// VethName is the host's end of the veth pair of node i.
func VethName(cluster string, i int) string { return fmt.Sprintf("%s%d", VethPrefix(cluster), i) }

// VethPrefix is the prefix of the veth names of this cluster only.
func VethPrefix(cluster string) string { return fmt.Sprintf("tv%08xn", digest(cluster)) }
