package flags

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// ErrInvalidValues means that all flags are known and some values are invalid. After another error of Parse, the rest of
// the command line is unread.
var ErrInvalidValues = errors.New("invalid values")

// Parse reads the command line, and then, for each flag that it does not set, the environment. It returns pflag.ErrHelp
// if the command line asks for help.
func (s *Set) Parse(args []string, getenv func(string) string) error {
	var invalid []error
	err := s.ParseAll(args, func(flag *pflag.Flag, value string) error {
		if err := s.Set(flag.Name, value); err != nil {
			invalid = append(invalid, err)
			// The command line has the flag, so its variable is not read.
			flag.Changed = true
		}
		return nil
	})
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if err == nil && s.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q: there are only flags, see --help", s.Arg(0))
	}
	s.VisitAll(func(flag *pflag.Flag) {
		if bad := s.fromEnvironment(flag, getenv); bad != nil {
			invalid = append(invalid, bad)
		}
	})
	if err != nil {
		return errors.Join(append([]error{err}, invalid...)...)
	}
	if len(invalid) > 0 {
		return &invalidValues{errors.Join(invalid...)}
	}
	return nil
}

// fromEnvironment sets a flag from the first of its variables that is set.
func (s *Set) fromEnvironment(flag *pflag.Flag, getenv func(string) string) error {
	if flag.Changed {
		return nil
	}
	for _, name := range s.Variables(flag.Name) {
		value := getenv(name)
		if value == "" {
			continue
		}
		if err := s.Set(flag.Name, value); err != nil {
			return fmt.Errorf("environment variable %s: %w", name, err)
		}
		return nil
	}
	return nil
}

// invalidValues is an ErrInvalidValues with the text of the values' errors.
type invalidValues struct{ error }

func (e *invalidValues) Is(target error) bool { return target == ErrInvalidValues }

func (e *invalidValues) Unwrap() error { return e.error }
