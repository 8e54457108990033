package results

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Command returns the command line that reproduces the figures: the make target, and the flags that were given in
// ARGS. It leaves out the flags in places, which name files of this machine, and shortens other absolute paths to
// their last element.
func Command(target string, given *pflag.FlagSet, places ...string) string {
	var words []string
	given.Visit(func(f *pflag.Flag) {
		if slices.Contains(places, f.Name) || f.Value.String() == f.DefValue {
			return
		}
		words = append(words, word(f))
	})
	if len(words) == 0 {
		return "make " + target
	}
	return "make " + target + ` ARGS="` + strings.Join(words, " ") + `"`
}

func word(f *pflag.Flag) string {
	value := f.Value.String()
	if list, ok := f.Value.(pflag.SliceValue); ok {
		value = strings.Join(list.GetSlice(), ",")
	}
	if f.Value.Type() == "bool" && value == "true" {
		return "--" + f.Name
	}
	if filepath.IsAbs(value) {
		value = "…/" + filepath.Base(value)
	}
	if strings.Contains(value, " ") {
		value = "'" + value + "'"
	}
	return "--" + f.Name + "=" + value
}
