package results

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Published reads the summaries of a folder, ordered by file name. It refuses summaries of quick runs: they show that
// a benchmark works, not how good the result is.
func Published(folder fs.FS) ([]Summary, error) {
	names, err := fs.Glob(folder, "*.json")
	if err != nil {
		return nil, err
	}
	var all []Summary
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		var s Summary
		switch err := json.Unmarshal(text, &s); {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		case s.Name == "" || len(s.Goals) == 0:
			return nil, fmt.Errorf("%s: it has no name or no figure", name)
		case len(s.Settings) == 0:
			return nil, fmt.Errorf("%s: it has no settings: the benchmark records them", name)
		case s.Quick:
			return nil, fmt.Errorf("%s: a quick run is not published", name)
		}
		s.file = name
		all = append(all, s)
	}
	return all, nil
}

// Page writes the summaries as Markdown, one section per file: command, commit, machine, settings, figures. If all
// figures are named "subject: figure", the table has one row per subject; otherwise it has one row per figure, with the
// commit if phases were measured at different ones.
func Page(w io.Writer, all []Summary) error {
	p := &page{Writer: w}
	p.print("# Results\n\nWritten by `make results` from the files in [measured](measured); a figure is the median or mean that its command\n" +
		"prints, in brackets the range over repeats or the 95 %% interval over seeds. **Bold** is a goal that was missed.\n")
	for _, s := range all {
		p.print("\n## %s\n\n`%s` at %s, %s; %s; %s.\n", strings.TrimSuffix(s.file, ".json"), s.Command, s.Commit, s.Date.Format("2 January 2006"), s.Machine, seeds(s.Seeds))
		p.print("Settings: %s.\n\n", settings(s.Settings))
		if lines := bySubject(s.Goals); lines != nil {
			p.table(lines)
			continue
		}
		p.table(s.singly())
	}
	return p.err
}

// page keeps the first error of its writer.
type page struct {
	io.Writer
	err error
}

func (p *page) print(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p, format, args...)
	}
}

// table writes rows of cells. The first row is the header.
func (p *page) table(lines [][]string) {
	for i, cells := range lines {
		p.print("| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			p.print("|%s\n", strings.Repeat("---|", len(cells)))
		}
	}
}

func (s Summary) singly() [][]string {
	commits := s.commits()
	lines := [][]string{{"figure", "measured"}}
	if len(commits) > 0 {
		lines[0] = append(lines[0], "commit")
	}
	for _, g := range s.Goals {
		cells := []string{g.Name, g.cell()}
		if len(commits) > 0 {
			cells = append(cells, commits[g.Phase])
		}
		lines = append(lines, cells)
	}
	return lines
}

// commits returns the commit of each phase by its name. It is empty if all were measured at the same one, or if none is recorded.
func (s Summary) commits() map[string]string {
	commits, different := map[string]string{}, false
	for _, p := range s.Phases {
		commits[p.Name] = p.Commit
		different = different || p.Commit != s.Phases[0].Commit
	}
	if !different {
		return nil
	}
	return commits
}

// bySubject returns nil if a figure has no subject. The header shows a column's unit; a cell shows its unit if it
// differs.
func bySubject(goals []Goal) [][]string {
	lines, units := [][]string{{""}}, []string{""}
	at := map[string]int{}
	for _, g := range goals {
		subject, figure, ok := strings.Cut(g.Name, ": ")
		if !ok {
			return nil
		}
		if at[subject] == 0 {
			at[subject] = len(lines)
			lines = append(lines, []string{subject})
		}
		column := slices.Index(lines[0], figure)
		if column < 0 {
			column = len(lines[0])
			lines[0], units = append(lines[0], figure), append(units, g.Unit)
		}
		if g.Unit == units[column] {
			g.Unit = ""
		}
		line := &lines[at[subject]]
		for len(*line) <= column {
			*line = append(*line, "")
		}
		(*line)[column] = g.cell()
	}
	for i, line := range lines {
		lines[i] = append(line, make([]string, len(units)-len(line))...)
	}
	for i, unit := range units[1:] {
		lines[0][i+1] += ", " + unit
	}
	return lines
}

// cell returns a figure such as "**−28.8 % (−29.4 – −28.3), goal −30**".
func (g Goal) cell() string {
	text := strings.TrimSpace(brief(g.Value) + " " + g.Unit)
	if brief(g.Low) != brief(g.High) {
		text += fmt.Sprintf(" (%s – %s)", brief(g.Low), brief(g.High))
	}
	if g.Target != nil {
		text += ", goal " + brief(*g.Target)
	}
	if g.Met != nil && !*g.Met {
		text = "**" + text + "**"
	}
	return text
}

// brief rounds to the digits that matter and writes a true minus sign.
func brief(x float64) string {
	digits := 1000.0
	if math.Abs(x) >= 10 {
		digits = 10
	}
	return strings.Replace(strconv.FormatFloat(math.Round(x*digits)/digits, 'f', -1, 64), "-", "−", 1)
}

// String returns a text such as "2 CPUs, 24 GiB, 4 GPUs (emulated 24GiB), Linux 6.1".
func (m Machine) String() string {
	text := fmt.Sprintf("%d CPUs", m.CPUs)
	if m.Memory > 0 {
		text += fmt.Sprintf(", %.0f GiB", float64(m.Memory)/(1<<30))
	}
	if m.GPU != "" {
		text += ", " + gpuModels(m.GPU)
	}
	return text + ", Linux " + m.Kernel
}

// gpuModels returns a text such as "4 GPUs (emulated 24GiB)" for GPUs that are listed as "node: model, node: model". A model
// may have a comma. Another text is returned as it is.
func gpuModels(listed string) string {
	if !strings.Contains(listed, ": ") {
		return listed
	}
	var models []string
	for part := range strings.SplitSeq(listed, ", ") {
		switch _, model, starts := strings.Cut(part, ": "); {
		case starts:
			models = append(models, model)
		case len(models) > 0:
			models[len(models)-1] += ", " + part
		}
	}
	unit := "GPUs"
	if len(models) == 1 {
		unit = "GPU"
	}
	different := slices.Compact(slices.Sorted(slices.Values(models)))
	return fmt.Sprintf("%d %s (%s)", len(models), unit, strings.Join(different, ", "))
}

// seeds returns a text such as "seeds 1–200".
func seeds(all []uint32) string {
	switch n := len(all); {
	case n == 0:
		return "no seed"
	case n == 1:
		return fmt.Sprint("seed ", all[0])
	case slices.IsSorted(all) && int(all[n-1]-all[0]) == n-1:
		return fmt.Sprintf("seeds %d–%d", all[0], all[n-1])
	default:
		return "seeds " + strings.Trim(fmt.Sprint(all), "[]")
	}
}

// settings groups settings by program, such as "coordinator --alpha 0.1, --interval 5s; rounds 5".
func settings(all map[string]string) string {
	var text strings.Builder
	before := ""
	for i, key := range slices.Sorted(maps.Keys(all)) {
		program, name, ok := strings.Cut(key, " ")
		switch {
		case i == 0:
		case ok && program == before:
			text.WriteString(", ")
		default:
			text.WriteString("; ")
		}
		shown := key
		if ok && program == before {
			shown = name
		}
		before = program
		text.WriteString(shown + " " + all[key])
	}
	return text.String()
}
