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

// Part is the units of a set that lie on one GPU.
type Part struct {
	GPU   growth.GPU
	Units int
}

// Spread says on which GPUs a set of ids lies, ordered by GPU. An id that is none, or that comes twice, is an error.
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
			return nil, fmt.Errorf("device id %s comes twice", id)
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

// Even tells whether every GPU of a spread holds the same: the only shape that a pod which asks for several GPUs has.
func Even(parts []Part) bool {
	return !slices.ContainsFunc(parts, func(p Part) bool { return p.Units != parts[0].Units })
}

// Shares turns a spread into memory.
func Shares(parts []Part, unit growth.MiB) []growth.GPUShare {
	shares := make([]growth.GPUShare, len(parts))
	for i, p := range parts {
		shares[i] = growth.GPUShare{GPU: p.GPU, Memory: growth.MiB(p.Units) * unit}
	}
	return shares
}

// Slot names the folder that belongs to a set of ids: the first 128 bits of the SHA-256 of the sorted ids, in hex.
// It depends on nothing else, so that Allocate, PreStartContainer and a restarted plugin come to the same name.
func Slot(ids []string) string {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(sorted), "\n")))
	return hex.EncodeToString(sum[:16])
}

// IsSlot tells whether a folder's name can be a slot's.
func IsSlot(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && len(raw) == 16 && strings.ToLower(name) == name
}
