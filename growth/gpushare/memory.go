package gpushare

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// errMemory is the message for all values that are not an amount of memory.
var errMemory = errors.New(`is not an amount of GPU memory: write "8Gi", "500Mi" or a number of GiB`)

// unitBytes returns the unit of a suffix, in bytes. It knows the suffixes of Kubernetes quantities from Ki and k
// upwards.
func unitBytes(suffix string) (int64, bool) {
	switch suffix {
	case "": // a bare number is in GiB, unlike in a Kubernetes quantity
		return 1 << 30, true
	case "Ki":
		return 1 << 10, true
	case "Mi":
		return 1 << 20, true
	case "Gi":
		return 1 << 30, true
	case "Ti":
		return 1 << 40, true
	case "k":
		return 1e3, true
	case "M":
		return 1e6, true
	case "G":
		return 1e9, true
	case "T":
		return 1e12, true
	}
	return 0, false
}

// ParseMemory parses an amount of GPU memory and rounds it up to whole MiB. It rejects amounts of 0 or less, and
// amounts larger than any GPU.
func ParseMemory(value string) (growth.MiB, error) {
	digits := strings.TrimRight(value, "KMGTik")
	unit, known := unitBytes(value[len(digits):])
	if !known || digits == "" || len(digits) > 20 || strings.Trim(digits, "0123456789.-") != "" {
		return 0, errMemory
	}
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n >= 0 && n <= (math.MaxInt64-mib)/unit {
		return checkBounds((n*unit + mib - 1) / mib) // the common case
	}
	return parseFraction(digits, unit)
}

// mib is one MiB in bytes.
const mib = 1 << 20

// parseFraction parses an amount that is not an integer or overflows an int64.
func parseFraction(digits string, unit int64) (growth.MiB, error) {
	amount, ok := new(big.Rat).SetString(digits)
	if !ok {
		return 0, errMemory
	}
	amount.Mul(amount, big.NewRat(unit, mib))
	whole := new(big.Int).Add(amount.Num(), new(big.Int).Sub(amount.Denom(), big.NewInt(1)))
	if whole.Div(whole, amount.Denom()); !whole.IsInt64() {
		whole.SetInt64(int64(maxMemory+1) * int64(whole.Sign()))
	}
	return checkBounds(whole.Int64())
}

func checkBounds(amount int64) (growth.MiB, error) {
	switch {
	case amount <= 0:
		return 0, fmt.Errorf("is not more than nothing: ask for at least 1Mi")
	case growth.MiB(amount) > maxMemory:
		return 0, fmt.Errorf("is more than any GPU has")
	}
	return growth.MiB(amount), nil
}

// Units returns the number of devices of size unit that cover memory. It is the pod's limit on the extended resource.
func Units(memory, unit growth.MiB) int { return int((memory + unit - 1) / unit) }
