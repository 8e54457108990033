package gpushare

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Priority is the weight of a job in fair sharing, relative to a job of priority 1. 0 means that the user has not set it.
type Priority float64

// Bounds on a priority, so that no job can take a node for itself.
const minPriority, maxPriority Priority = 0.1, 10

var priorityPattern = regexp.MustCompile(`^([0-9]{1,2}([.][0-9]{0,6})?|[.][0-9]{1,6})$`)

func parsePriority(value string, s *Spec) error {
	if value == "" {
		return nil
	}
	number, err := strconv.ParseFloat(value, 64)
	p := Priority(number)
	if err != nil || !priorityPattern.MatchString(value) || p < minPriority || p > maxPriority {
		return fmt.Errorf("is not a weight from %g to %g, such as \"2\" or \"0.5\"", minPriority, maxPriority)
	}
	s.Priority = p
	return nil
}

// ClassPriority returns the priority of a job whose user has not set one, from the value of its pod's PriorityClass. It
// doubles with every three digits: 1 for values from -1 to 1, 2 for 1,000, 4 for a million, 8 for 1,000,000,000, and the
// inverse for negative values. All values of PriorityClasses are within the bounds of a priority.
func ClassPriority(value int32) Priority {
	magnitude := math.Exp2(math.Log10(max(1, math.Abs(float64(value)))) / 3)
	if value < 0 {
		return Priority(1 / magnitude)
	}
	return Priority(magnitude)
}
