package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
)

// Exit codes of every binary.
const (
	ExitOK      = 0 // after --help, --version, an action, or a signal
	ExitFailure = 1
	ExitUsage   = 2 // the flags or the environment are invalid
)

// Program is one binary.
type Program struct {
	Name    string
	Version string
	// About is the first paragraph of --help: a sentence or two about what the program does.
	About string
	// Config receives the flags.
	Config Config
	// Run runs the process until ctx ends.
	Run func(ctx context.Context, log *slog.Logger) error
	// Actions maps the name of a flag to the action that replaces Run if the command line has the flag.
	Actions map[string]Action
}

// Action prints something for a user and returns.
type Action func(ctx context.Context, out io.Writer, log *slog.Logger) error

// Main runs the program and returns the exit code.
func (p Program) Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return p.main(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
}

func (p Program) main(ctx context.Context, args []string, getenv func(string) string, out, errs io.Writer) int {
	line, err := parse(p.Config, p.Name, p.actionFlags(), args, getenv)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		_, _ = io.WriteString(out, p.help(line))
		return ExitOK
	case err != nil:
		p.printError(errs, err)
		_, _ = fmt.Fprintf(errs, "See %s --help.\n", p.Name)
		return ExitUsage
	case line.version:
		_, _ = fmt.Fprintln(out, p.Name, p.Version)
		return ExitOK
	}
	log := NewLogger(errs, slog.Level(line.level))
	if action := p.action(line); action != nil {
		if err := action(ctx, out, log); err != nil {
			p.printError(errs, err)
			return ExitFailure
		}
		return ExitOK
	}
	if err := p.Run(ctx, log); err != nil {
		log.Error("failed", "program", p.Name, "err", err)
		return ExitFailure
	}
	log.Info("stopped", "program", p.Name)
	return ExitOK
}

// Help returns what --help prints.
func (p Program) Help() string {
	var text strings.Builder
	p.main(context.Background(), []string{"--help"}, func(string) string { return "" }, &text, io.Discard)
	return text.String()
}

func (p Program) help(line commandLine) string {
	return fmt.Sprintf(`%s

Usage: %s [flags]

A flag can also be set by the environment variable in brackets. The flag overrides the variable, and an empty variable
counts as unset.

%s`, strings.TrimSpace(p.About), p.Name, line.set.Help())
}

// printError prints each line of an error after the program's name.
func (p Program) printError(w io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		_, _ = fmt.Fprintf(w, "%s: %s\n", p.Name, strings.TrimSuffix(line, "\n"))
	}
}

func (p Program) actionFlags() (names []string) {
	for name := range p.Actions {
		names = append(names, name)
	}
	return names
}

// action returns the action whose flag is given, or nil.
func (p Program) action(line commandLine) Action {
	for name, action := range p.Actions {
		flag := line.set.Lookup(name)
		if value := flag.Value.String(); flag.Changed && value != "" && value != "false" {
			return action
		}
	}
	return nil
}
