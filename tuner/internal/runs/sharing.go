package runs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/growth/programs"
)

// Sharing lists the namespaces that share the models of their programs; "*" alone is all namespaces.
type Sharing []string

// ParseSharing parses namespaces that are separated by commas.
func ParseSharing(text string) (Sharing, error) {
	var all Sharing
	for _, name := range strings.Split(text, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if name != "*" && !programs.ValidNamespace(name) {
			return nil, fmt.Errorf(`%.70q is not a namespace: give names separated by commas, or "*" for all`, name)
		}
		all = append(all, name)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if slices.Contains(all, "*") {
		return Sharing{"*"}, nil
	}
	return all, nil
}

// includes reports whether a namespace shares its models.
func (s Sharing) includes(namespace string) bool {
	return slices.Contains(s, namespace) || slices.Contains(s, "*")
}

// target returns the model into which the runs of a program are merged.
func (s Sharing) target(program programs.ID) programs.ID {
	if s.includes(program.Namespace) {
		return program.In(programs.Shared)
	}
	return program
}

// apply sets the readers of a shared model, and removes the runs of namespaces that no longer share theirs.
func (s Sharing) apply(id programs.ID, m *programs.Model) {
	if id.Namespace != programs.Shared {
		return
	}
	m.Readers = s
	m.Runs = slices.DeleteFunc(m.Runs, func(r programs.Run) bool { return !s.includes(r.Namespace()) })
}
