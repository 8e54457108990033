package daemon

import (
	"errors"
	"log/slog"

	"github.com/trellis-gpu/trellis/daemon/flags"
)

// Config is the configuration of one binary.
type Config interface {
	// AddFlags binds the configuration to flags and sets their defaults.
	AddFlags(set *flags.Set)
	// Validate returns an error that names all invalid values.
	Validate() error
}

// standardFlags are the flags of every binary, in addition to its own.
type standardFlags struct {
	level   logLevel
	version bool
}

func (f *standardFlags) addTo(set *flags.Set) {
	f.level = logLevel(slog.LevelInfo)
	set.Var(&f.level, "log-level", "debug, info, warn or error")
	set.BoolVar(&f.version, "version", false, "print the version and exit")
	set.CommandLineOnly("version")
}

// Parse reads and validates a configuration. The error names all invalid values; it is pflag.ErrHelp if args ask for help.
// With --version, Parse validates nothing.
func Parse(c Config, args []string, getenv func(string) string) error {
	_, err := parse(c, "", nil, args, getenv)
	return err
}

// commandLine is a parsed command line.
type commandLine struct {
	standardFlags
	set *flags.Set
}

// parse reads and validates the flags of a program. The flags in actions are read from the command line only.
func parse(c Config, program string, actions, args []string, getenv func(string) string) (commandLine, error) {
	line := commandLine{set: flags.New(program)}
	c.AddFlags(line.set)
	line.addTo(line.set)
	line.set.CommandLineOnly(actions...)
	err := line.set.Parse(args, getenv)
	switch {
	case line.version:
		return line, nil
	case err != nil && !errors.Is(err, flags.ErrInvalidValues):
		return line, err // the rest of the command line was not read, so validation would report wrong values
	}
	return line, errors.Join(err, c.Validate())
}
