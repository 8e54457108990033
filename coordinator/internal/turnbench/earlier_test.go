package turnbench

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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

// readFigures returns the figures of an earlier run; none if there is no such file. A run that did not record the commit of
// each phase has measured all of them at its own, unless it has kept phases of other runs.
func readFigures(path string) (f figures, err error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &f)
	}
	for i := range f.Phases {
		if p := &f.Phases[i]; p.Commit == "" && !strings.Contains(f.Commit, ", ") {
			p.Commit = f.Commit
		}
	}
	return f, err
}

// update replaces what the later run has measured again, and adds what it has measured first. The commit names those of all
// phases, and all of both runs if that of a phase is unknown.
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
	f.Phases = append(f.Phases, later.Phases...)
	f.Commit = strings.Join(commitsOf(f.Phases, commits), ", ")
	f.Goals = append(f.Goals, later.Goals...)
	f.Details.Held = append(f.Details.Held, later.Details.Held...)
	order := func(phase string) int { return slices.Index(phaseNames(), phase) }
	slices.SortStableFunc(f.Phases, func(a, b phaseTime) int { return order(a.Name) - order(b.Name) })
	return f
}

// commitsOf returns the commits at which the phases were measured, or the given ones if that of a phase is unknown.
func commitsOf(phases []phaseTime, otherwise []string) []string {
	var commits []string
	for _, p := range phases {
		if p.Commit == "" {
			commits = otherwise
			break
		}
		commits = append(commits, p.Commit)
	}
	slices.Sort(commits)
	return slices.Compact(commits)
}

func TestFigures_OfALaterRunReplaceThoseOfTheSamePhases(t *testing.T) {
	earlier := figures{
		Commit: "aaa",
		Phases: []phaseTime{{"shares", 60, "aaa"}, {"ddp", 10, "aaa"}},
		Goals:  []goal{{Name: "error", Phase: "shares", Value: 1}, {Name: "pauses", Phase: "ddp", Value: 300}, {Name: "old", Phase: "ddp"}},
	}
	earlier.Details.Held = []line{{Panel: "3:1", Job: "a"}, {Panel: "plain", Job: "b"}}
	later := figures{
		Commit: "bbb",
		Phases: []phaseTime{{"ddp", 30, "bbb"}, {"ten", 90, "bbb"}},
		Goals:  []goal{{Name: "pauses", Phase: "ddp", Value: 1000}, {Name: "completion", Phase: "ten"}},
	}
	later.Details.Held = []line{{Panel: "plain", Job: "c"}}

	both := earlier.update(later)
	require.Equal(t, "aaa, bbb", both.Commit)
	require.Equal(t, []phaseTime{{"shares", 60, "aaa"}, {"ddp", 30, "bbb"}, {"ten", 90, "bbb"}}, both.Phases)
	require.Equal(t, []goal{
		{Name: "error", Phase: "shares", Value: 1}, {Name: "pauses", Phase: "ddp", Value: 1000}, {Name: "completion", Phase: "ten"},
	}, both.Goals)
	require.Equal(t, []line{{Panel: "3:1", Job: "a"}, {Panel: "plain", Job: "c"}}, both.Details.Held)

	require.Equal(t, later, figures{}.update(later))
	require.Equal(t, later, figures{Commit: "aaa", Phases: []phaseTime{{Name: "ten", Seconds: 1}}}.update(later))
}

// A commit of which no phase is left is not named.
func TestFigures_NameTheCommitsOfTheirPhases(t *testing.T) {
	later := figures{Commit: "ccc", Phases: []phaseTime{{"ten", 90, "ccc"}}}
	for name, c := range map[string]struct {
		file string
		want string
		of   string // the phase that stays
	}{
		"all phases are recorded": {
			`{"commit": "aaa, bbb", "phases": [{"name": "ddp", "seconds": 1, "commit": "aaa"}, {"name": "ten", "seconds": 1, "commit": "bbb"}]}`,
			"aaa, ccc", "aaa",
		},
		"a run of one commit that did not record them": {
			`{"commit": "aaa", "phases": [{"name": "ddp", "seconds": 1}]}`,
			"aaa, ccc", "aaa",
		},
		"runs of several commits that did not record them": {
			`{"commit": "aaa, bbb", "phases": [{"name": "ddp", "seconds": 1}]}`,
			"aaa, bbb, ccc", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "turns.json")
			require.NoError(t, os.WriteFile(path, []byte(c.file), 0o600))
			earlier, err := readFigures(path)
			require.NoError(t, err)
			both := earlier.update(later)
			require.Equal(t, c.want, both.Commit)
			require.Equal(t, []phaseTime{{"ddp", 1, c.of}, {"ten", 90, "ccc"}}, both.Phases)
		})
	}
	_, err := readFigures(filepath.Join(t.TempDir(), "none.json"))
	require.NoError(t, err)
}
