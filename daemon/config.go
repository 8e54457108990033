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
	// Validate returns all errors, joined.
	Validate() error
}

// common is the configuration that every binary has.
type common struct {
	level   logLevel
	version bool
}

func (c *common) addFlags(set *flags.Set) {
	c.level = logLevel(slog.LevelInfo)
	set.Var(&c.level, "log-level", "debug, info, warn or error")
	set.BoolVar(&c.version, "version", false, "print the version and exit")
	set.CommandLineOnly("version")
}

// Parse reads and validates a configuration. The error joins all errors. It is pflag.ErrHelp if args ask for help. With
// --version, nothing else is checked.
func Parse(c Config, args []string, getenv func(string) string) error {
	_, err := parse(c, "", nil, args, getenv)
	return err
}

// parsed is the result of parse.
type parsed struct {
	common
	set *flags.Set
}

func parse(c Config, name string, actions []string, args []string, getenv func(string) string) (parsed, error) {
	p := parsed{set: newSet(c, name)}
	p.addFlags(p.set)
	p.set.CommandLineOnly(actions...)
	err := p.set.Parse(args, getenv)
	switch {
	case p.version:
		return p, nil
	case err != nil && !errors.Is(err, flags.ErrInvalidValues):
		return p, err // the rest of the command line is unread
	}
	return p, errors.Join(err, c.Validate())
}

func newSet(c Config, name string) *flags.Set {
	set := flags.New(name)
	c.AddFlags(set)
	return set
}
