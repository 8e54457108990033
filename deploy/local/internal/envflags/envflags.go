package envflags

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Variable is the environment variable of a flag: TRELLIS_STOCK_DIR of --stock-dir.
func Variable(flag string) string {
	return "TRELLIS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Set gives each flag that is not on the command line the value of its environment variable.
func Set(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var first error
	flags.VisitAll(func(f *pflag.Flag) {
		variable := Variable(f.Name)
		value, ok := lookup(variable)
		if f.Changed || !ok || value == "" || f.Name == "help" || f.Name == "version" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil && first == nil {
			first = fmt.Errorf("%s: %w", variable, err)
		}
	})
	return first
}
