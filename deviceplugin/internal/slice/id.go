package slice

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// maxID is the longest device id that the device plugin API allows.
	maxID = 63
	// maxUnits bounds the units of one GPU, which bounds the size of messages to kubelet.
	maxUnits = 4096
)

// ID returns the id of a GPU's n-th unit, counted from 0.
func ID(gpu growth.GPU, n int) string { return string(gpu) + "/" + strconv.Itoa(n) }

// Parse splits an id into its GPU and unit. It accepts exactly the ids that ID returns.
func Parse(id string) (growth.GPU, int, error) {
	gpu, number, ok := cut(id)
	if !ok || len(id) > maxID {
		return "", 0, fmt.Errorf("device id %.80q is not of the form <GPU uuid>/<unit>", id)
	}
	n, err := strconv.Atoi(number)
	nonCanonical := number == "" || number[0] == '+' || number[0] == '-' || number[0] == '0' && len(number) > 1
	if err != nil || nonCanonical || n >= maxUnits {
		return "", 0, fmt.Errorf("device id %.80q: %q is not the number of a unit", id, number)
	}
	return gpu, n, nil
}

// cut splits at the last slash, because the UUID of a MIG instance may contain slashes.
func cut(id string) (growth.GPU, string, bool) {
	slash := strings.LastIndexByte(id, '/')
	if slash <= 0 {
		return "", "", false
	}
	return growth.GPU(id[:slash]), id[slash+1:], true
}

// Units returns the number of whole units in a GPU's memory.
func Units(memory, unit growth.MiB) int {
	if unit <= 0 || memory <= 0 {
		return 0
	}
	return int(memory / unit)
}

// IDs returns all ids of a GPU.
func IDs(gpu growth.GPU, units int) []string {
	ids := make([]string, units)
	for n := range ids {
		ids[n] = ID(gpu, n)
	}
	return ids
}

// CheckSize returns an error if a GPU of this memory cannot be advertised in this unit.
func CheckSize(gpu growth.GPU, memory, unit growth.MiB) error {
	switch n := Units(memory, unit); {
	case n == 0:
		return fmt.Errorf("GPU %s has %s of memory, less than one unit of %s: choose a smaller --memory-unit", gpu,
			memory, unit)
	case n > maxUnits:
		return fmt.Errorf("GPU %s would make %d units of %s, at most %d are allowed: choose a larger --memory-unit",
			gpu, n, unit, maxUnits)
	case len(ID(gpu, n)) > maxID:
		return fmt.Errorf("GPU %s: the name is too long for a device id of %d characters", gpu, maxID)
	}
	return nil
}
