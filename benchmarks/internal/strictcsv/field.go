package strictcsv

import (
	"fmt"
	"strconv"
)

// Whole parses a whole number within a range.
func Whole(value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is not a whole number from %d to %d", value, least, most)
	}
	return n, nil
}

// Number parses a number within a range.
func Number(value string, least, most float64) (float64, error) {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || !(x >= least && x <= most) { // NaN is outside
		return 0, fmt.Errorf("%q is not a number from %g to %g", value, least, most)
	}
	return x, nil
}

// Text validates a name that is not empty.
func Text(value string, longest int) error {
	if value == "" || len(value) > longest {
		return fmt.Errorf("%.40q is not a name of 1 to %d bytes", value, longest)
	}
	return nil
}
