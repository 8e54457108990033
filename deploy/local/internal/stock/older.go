package stock

import (
	"fmt"
	"time"
)

const olderModule = "stock/kubernetes-1."

// older lists the older releases: the first minor version that Trellis supports, the first one that resizes pods in place, and
// the last one without mutating policies by default.
func older() []struct{ minor, patch int } {
	return []struct{ minor, patch int }{{31, 14}, {33, 13}, {35, 4}}
}

// Older are API servers of older releases, which tests install Trellis into. They have a cache folder of their own, and no
// cluster needs them.
func Older() []Program {
	var programs []Program
	for _, r := range older() {
		programs = append(programs, Program{
			Name:    fmt.Sprintf("kube-apiserver-1.%d", r.minor),
			Module:  fmt.Sprintf("%s%d", olderModule, r.minor),
			Package: "k8s.io/kubernetes/cmd/kube-apiserver",
			LDFlags: fmt.Sprintf("-s -w -X %[1]s.gitVersion=v1.%[2]d.%[3]d -X %[1]s.gitMajor=1 -X %[1]s.gitMinor=%[2]d",
				versionPackage, r.minor, r.patch),
			Cold: 260 * time.Second,
		})
	}
	return programs
}
