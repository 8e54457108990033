package flags

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Prefix starts the name of every environment variable that a flag reads.
const Prefix = "TRELLIS_"

// columns is the width of Help.
const columns = 120

// Set is a set of flags that also read environment variables.
type Set struct {
	*pflag.FlagSet
	// extra lists further variables of a flag, in the order of precedence.
	extra map[string][]string
	// oldNames maps the old name of a flag to its current name.
	oldNames map[string]string
	// commandLineOnly lists the flags that read no variable.
	commandLineOnly []string
}

// New returns an empty set for a program.
func New(program string) *Set {
	s := &Set{
		FlagSet:  pflag.NewFlagSet(program, pflag.ContinueOnError),
		extra:    map[string][]string{},
		oldNames: map[string]string{},
	}
	s.SortFlags = false
	s.Usage = func() {} // the caller prints Help
	s.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if current, ok := s.oldNames[name]; ok {
			name = current
		}
		return pflag.NormalizedName(name)
	})
	return s
}

// Env adds variables that a flag reads if its own is unset, in this order.
func (s *Set) Env(flag string, variables ...string) {
	s.extra[flag] = append(s.extra[flag], variables...)
}

// Renamed also accepts the old name of a flag and its old variable.
func (s *Set) Renamed(flag, oldName string) {
	s.oldNames[oldName] = flag
	s.Env(flag, variable(oldName))
}

// CommandLineOnly makes flags ignore the environment.
func (s *Set) CommandLineOnly(names ...string) {
	s.commandLineOnly = append(s.commandLineOnly, names...)
}

// Variables returns the names of the variables that a flag reads, in the order of precedence.
func (s *Set) Variables(flag string) []string {
	if slices.Contains(s.commandLineOnly, flag) {
		return nil
	}
	return append([]string{variable(flag)}, s.extra[flag]...)
}

// Given reports whether the command line or the environment sets a flag.
func (s *Set) Given(flag string) bool { return s.Changed(flag) }

// Help describes the flags, each with the variables that it reads.
func (s *Set) Help() string {
	shown := pflag.NewFlagSet(s.Name(), pflag.ContinueOnError)
	shown.SortFlags = false
	s.VisitAll(func(f *pflag.Flag) {
		described := *f
		if names := s.Variables(f.Name); len(names) > 0 {
			described.Usage += " [" + strings.Join(s.current(f.Name, names), ", ") + "]"
		}
		shown.AddFlag(&described)
	})
	return shown.FlagUsagesWrapped(columns)
}

// current leaves out the variables of old names, which are accepted but not advertised.
func (s *Set) current(flag string, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		for oldName, renamed := range s.oldNames {
			if renamed == flag && name == variable(oldName) {
				return true
			}
		}
		return false
	})
}

func variable(flag string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
