package turnbench

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// figures is what a run leaves in its file for a later run that measures other phases.
type figures struct {
	Commit  string `json:"commit"`
	Machine struct {
		GPU string `json:"gpu"`
	} `json:"machine"`
	Phases  []phaseTime `json:"phases"`
	Goals   []goal      `json:"goals"`
	Details struct {
		Held []line `json:"held"`
	} `json:"details"`
}

// readFigures returns the figures of an earlier run; none if there is no such file.
func readFigures(path string) (f figures, err error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &f)
	}
	return f, err
}

// update replaces what the later run has measured again, and adds what it has measured first. The commit names both runs if
// something of the earlier one is left.
func (f figures) update(later figures) figures {
	measured := func(phase string) bool {
		return slices.ContainsFunc(later.Phases, func(p phaseTime) bool { return p.Name == phase })
	}
	again := func(g goal) bool {
		return measured(g.Phase) || slices.ContainsFunc(later.Goals, func(l goal) bool { return l.Name == g.Name })
	}
	f.Phases = slices.DeleteFunc(f.Phases, func(p phaseTime) bool { return measured(p.Name) })
	f.Goals = slices.DeleteFunc(f.Goals, again)
	f.Details.Held = slices.DeleteFunc(f.Details.Held, func(l line) bool {
		return slices.ContainsFunc(later.Details.Held, func(o line) bool { return o.Panel == l.Panel })
	})
	if len(f.Phases) == 0 {
		return later
	}
	commits := append(strings.Split(f.Commit, ", "), later.Commit)
	slices.Sort(commits)
	f.Commit = strings.Join(slices.Compact(commits), ", ")
	f.Phases = append(f.Phases, later.Phases...)
	f.Goals = append(f.Goals, later.Goals...)
	f.Details.Held = append(f.Details.Held, later.Details.Held...)
	order := func(phase string) int { return slices.Index(phaseNames(), phase) }
	slices.SortStableFunc(f.Phases, func(a, b phaseTime) int { return order(a.Name) - order(b.Name) })
	return f
}

func TestFigures_OfALaterRunReplaceThoseOfTheSamePhases(t *testing.T) {
	earlier := figures{
		Commit: "aaa",
		Phases: []phaseTime{{"shares", 60}, {"ddp", 10}},
		Goals:  []goal{{Name: "error", Phase: "shares", Value: 1}, {Name: "pauses", Phase: "ddp", Value: 300}, {Name: "old", Phase: "ddp"}},
	}
	earlier.Details.Held = []line{{Panel: "3:1", Job: "a"}, {Panel: "plain", Job: "b"}}
	later := figures{
		Commit: "bbb",
		Phases: []phaseTime{{"ddp", 30}, {"ten", 90}},
		Goals:  []goal{{Name: "pauses", Phase: "ddp", Value: 1000}, {Name: "completion", Phase: "ten"}},
	}
	later.Details.Held = []line{{Panel: "plain", Job: "c"}}

	both := earlier.update(later)
	require.Equal(t, "aaa, bbb", both.Commit)
	require.Equal(t, []phaseTime{{"shares", 60}, {"ddp", 30}, {"ten", 90}}, both.Phases)
	require.Equal(t, []goal{
		{Name: "error", Phase: "shares", Value: 1}, {Name: "pauses", Phase: "ddp", Value: 1000}, {Name: "completion", Phase: "ten"},
	}, both.Goals)
	require.Equal(t, []line{{Panel: "3:1", Job: "a"}, {Panel: "plain", Job: "c"}}, both.Details.Held)

	require.Equal(t, later, figures{}.update(later))
	require.Equal(t, later, figures{Commit: "aaa", Phases: []phaseTime{{"ten", 1}}}.update(later))
}
