package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// program is one program, or one subcommand of it.
type program struct {
	// Name is how it is called: "extender", "local install".
	Name     string
	Flags    []flagUsage
	Commands []string
}

// flagUsage is one flag in --help, which may be wrapped to several lines.
type flagUsage struct {
	Name, Short, Kind, Variable, Default, Help string
}

// packages maps the programs to their packages. The first four run in a cluster.
var packages = []struct{ name, pkg string }{
	{"extender", "./extender"},
	{"deviceplugin", "./deviceplugin"},
	{"coordinator", "./coordinator"},
	{"tuner", "./tuner"},
	{"benchmarks", "./benchmarks"},
	{"local", "./deploy/local"},
	{"trellis", "./deploy/local/cmd/trellis"},
}

var (
	flagLine     = regexp.MustCompile(`^\s+(?:-(\w), )?--([a-z0-9-]+)(?: ([^\s]+))?(?:\s{2,}(.*))?$`)
	defaultValue = regexp.MustCompile(` \(default (.*)\)$`)
	variable     = regexp.MustCompile(` \[([A-Z0-9_, ]+)\]$`)
	continuation = regexp.MustCompile(`\n {10,}`)
	commandLine  = regexp.MustCompile(`^  ([a-z][a-z-]+) +\S`)
)

// describePrograms builds the programs and reads what each says of itself.
func describePrograms(root string) ([]program, error) {
	folder, err := os.MkdirTemp("", "docs")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	args := []string{"build", "-o", folder + "/"}
	for _, p := range packages {
		args = append(args, p.pkg)
	}
	build := exec.Command("go", args...)
	build.Dir = root
	build.Env = append(os.Environ(), "GOWORK=")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the programs: %w\n%s", err, out)
	}
	var all []program
	for _, p := range packages {
		described, err := describe(filepath.Join(folder, p.name))
		if err != nil {
			return nil, err
		}
		all = append(all, described...)
	}
	return all, nil
}

// describe reads the help of a program, and of its subcommands.
func describe(path string, command ...string) ([]program, error) {
	help := exec.Command(path, append(command, "--help")...)
	help.Env = []string{} // a default that the environment changes would be printed as the default
	text, err := help.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s --help: %w", filepath.Base(path), err)
	}
	name := strings.Join(append([]string{filepath.Base(path)}, command...), " ")
	this := parseHelp(name, string(text))
	all := []program{this}
	for _, sub := range this.Commands {
		below, err := describe(path, append(slices.Clone(command), sub)...)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

// parseHelp reads the output of --help, as pflag and cobra print it.
func parseHelp(name, help string) program {
	p := program{Name: name}
	commands := false
	for line := range strings.Lines(joinContinuations(help)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasSuffix(line, ":") {
			commands = line == "Available Commands:"
		}
		if m := flagLine.FindStringSubmatch(line); m != nil {
			if f := parseFlag(m); f.Name != "help" && f.Name != "version" {
				p.Flags = append(p.Flags, f)
			}
		}
		if m := commandLine.FindStringSubmatch(line); m != nil && commands && m[1] != "help" && m[1] != "completion" {
			p.Commands = append(p.Commands, m[1])
		}
	}
	return p
}

// joinContinuations appends each continuation line to the flag that it describes. Flags are indented by at most six spaces.
func joinContinuations(help string) string {
	return continuation.ReplaceAllString(help, " ")
}

func parseFlag(m []string) flagUsage {
	f := flagUsage{Short: m[1], Name: m[2], Kind: m[3], Help: m[4]}
	if d := defaultValue.FindStringSubmatch(f.Help); d != nil {
		f.Default = strings.Trim(d[1], `"`)
		f.Help = strings.TrimSuffix(f.Help, d[0])
	}
	if v := variable.FindStringSubmatch(f.Help); v != nil {
		f.Variable = v[1]
		f.Help = strings.TrimSuffix(f.Help, v[0])
	}
	return f
}
