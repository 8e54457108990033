package lines

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// grouping puts commas between the thousands of a number without an exponent.
func grouping(text string) string {
	digits, fraction, _ := strings.Cut(text, ".")
	digits, negative := strings.CutPrefix(digits, "-")
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	if fraction != "" {
		digits += "." + fraction
	}
	if negative {
		digits = "-" + digits
	}
	return digits
}

func FuzzNumber(f *testing.F) {
	f.Add(1234567.5, ", lr=1")
	f.Add(-2.3e-05, "]")
	f.Fuzz(func(t *testing.T, want float64, after string) {
		if math.IsNaN(want) || math.Abs(want) > maxMagnitude || math.Abs(want) > 0 && math.Abs(want) < 1e-290 {
			return
		}
		for _, text := range []string{fmt.Sprint(want), fmt.Sprintf("%.17e", want), fmt.Sprintf("%.17G", want)} {
			for _, form := range []string{"%s ", "%s", `"%s"`, "tensor(%s)", "%s%%", "%s, x", "%s."} {
				got, end, ok := parseNumber(fmt.Appendf(nil, form, text))
				require.True(t, ok, form, text)
				require.Equal(t, want, got, text)
				require.GreaterOrEqual(t, end, len(text))
			}
		}
		if math.Abs(want) >= 1 && math.Abs(want) < 1e15 {
			text := fmt.Sprintf("%.2f", want)
			var rounded float64
			_, err := fmt.Sscan(text, &rounded)
			require.NoError(t, err)
			got, _, ok := parseNumber([]byte(grouping(text)))
			require.True(t, ok, grouping(text))
			require.Equal(t, rounded, got)
		}
		for _, text := range []string{after, fmt.Sprint(want) + after} {
			if _, end, ok := parseNumber([]byte(text)); ok {
				require.LessOrEqual(t, end, len(text))
			}
			n, last, ok := parseCount([]byte(text), 0, len(text))
			require.True(t, !ok || n >= 0 && last <= len(text))
		}
	})
}
