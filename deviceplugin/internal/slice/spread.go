package slice

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// Part is the number of units on one GPU.
type Part struct {
	GPU   growth.GPU
	Units int
}

// Spread returns the units on each GPU, ordered by GPU. Invalid and repeated ids are errors.
func Spread(ids []string) ([]Part, error) {
	sorted := slices.Clone(ids)
	parts := []Part(nil)
	slices.Sort(sorted)
	for i, id := range sorted {
		gpu, _, err := Parse(id)
		if err != nil {
			return nil, err
		}
		if i > 0 && id == sorted[i-1] {
			return nil, fmt.Errorf("device id %s appears twice", id)
		}
		if at := slices.IndexFunc(parts, func(p Part) bool { return p.GPU == gpu }); at >= 0 {
			parts[at].Units++
			continue
		}
		parts = append(parts, Part{GPU: gpu, Units: 1})
	}
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Compare(a.GPU, b.GPU) })
	return parts, nil
}

// Even reports whether all GPUs have the same number of units, as a request for several GPUs requires.
func Even(parts []Part) bool {
	return !slices.ContainsFunc(parts, func(p Part) bool { return p.Units != parts[0].Units })
}

// Shares converts units to memory.
func Shares(parts []Part, unit growth.MiB) []growth.GPUShare {
	shares := make([]growth.GPUShare, len(parts))
	for i, p := range parts {
		shares[i] = growth.GPUShare{GPU: p.GPU, Memory: growth.MiB(p.Units) * unit}
	}
	return shares
}

// Slot returns the directory name of a set of ids: the first 128 bits of the SHA-256 of the sorted ids, in hex. It
// depends on the ids alone, so Allocate, PreStartContainer and a restarted plugin use the same name.
func Slot(ids []string) string {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(sorted), "\n")))
	return hex.EncodeToString(sum[:16])
}

// IsSlot reports whether a name has the form of a slot name.
func IsSlot(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && len(raw) == 16 && strings.ToLower(name) == name
}
