package node_test

import (
	"fmt"
	"strconv"

	"github.com/stretchr/testify/require"
)

// runMetric runs a command about values of the metric. It reports whether the command is one.
func (s *scenario) runMetric(what string, args []string) bool {
	switch what {
	case "redraw": // redraw 3 a: in each of three rounds, the last line comes three times again
		for range s.count(args[0]) {
			for range 3 {
				s.step(s.lastReport[args[1]])
			}
			s.tick(s.config.Interval, map[string]string{args[1]: "5s"})
		}
	case "unnumbered": // unnumbered 3 a loss=1: three rounds with a report that has no step
		for range s.count(args[0]) {
			s.report(args[1], values(args[2:]))
			s.tick(s.config.Interval, map[string]string{args[1]: "5s"})
		}
	case "scaled": // scaled 3 a factor=1000: three rounds in which the falling loss of a has another scale
		factor, err := strconv.ParseFloat(values(args[2:])["factor"], 64)
		require.NoError(s.t, err)
		for range s.count(args[0]) {
			loss := factor * float64(100-s.trained)
			s.report(args[1], map[string]string{"step": strconv.Itoa(s.trained + 1), "loss": fmt.Sprint(loss)})
			s.trained++
			s.tick(s.config.Interval, map[string]string{args[1]: "5s"})
		}
	default:
		return false
	}
	return true
}
