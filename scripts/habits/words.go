package main

import (
	_ "embed"
	"fmt"
	"path"
	"regexp"
	"strings"
)

var (
	//go:embed words.txt
	wordsFile string
	//go:embed allowed.txt
	allowedFile string
	//go:embed pending.txt
	pendingFile string
)

// word is an expression that has a replacement. It does not count where its surroundings match unless.
type word struct {
	pattern, unless *regexp.Regexp
	instead         string
	// names tells that it is looked for in identifiers, otherwise only in prose; folder is the only place it counts in.
	names  bool
	folder string
}

// use is an allowed use: lines of files at path, or below it, that match.
type use struct {
	path    string
	pattern *regexp.Regexp
}

type lists struct {
	replaced []word
	allowed  []use
	pending  []string
}

// sentence matches names of tests that are sentences.
var sentence = regexp.MustCompile(`^Test(A|An|The|It|What|Who|How|When|Where|Nobody|Nothing|No|One|Every|All|Each|Some|That|This|There|Two|Of|In|On|At)[A-Z]`)

// around is how many bytes before and after a match belong to its surroundings.
const around = 40

func readLists() (l lists, err error) {
	for line := range entries(wordsFile) {
		w, err := parseWord(line)
		if err != nil {
			return l, fmt.Errorf("words.txt: %q: %w", line, err)
		}
		l.replaced = append(l.replaced, w)
	}
	for line := range entries(allowedFile) {
		where, rest, _ := strings.Cut(line, ": ")
		text, reason, ok := strings.Cut(rest, " # ")
		if !ok || reason == "" {
			return l, fmt.Errorf("allowed.txt: %q: write \"path: pattern # reason\"", line)
		}
		pattern, err := regexp.Compile("(?i)" + strings.TrimSpace(text))
		if err != nil {
			return l, fmt.Errorf("allowed.txt: %q: %w", line, err)
		}
		l.allowed = append(l.allowed, use{where, pattern})
	}
	for line := range entries(pendingFile) {
		l.pending = append(l.pending, line)
	}
	return l, nil
}

// entries yields the lines of a list that are neither empty nor comments.
func entries(list string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(list) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "#") && !yield(line) {
				return
			}
		}
	}
}

// parseWord reads "expression => replacement". "name" before it: identifiers are checked too; "in folder": only there;
// " unless expression" after it: but for these surroundings.
func parseWord(line string) (w word, err error) {
	text, instead, ok := strings.Cut(line, " => ")
	if !ok {
		return w, fmt.Errorf(`write "expression => replacement"`)
	}
	w.instead = strings.TrimSpace(instead)
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "in "); ok {
		w.folder, text, _ = strings.Cut(rest, " ")
	}
	text, w.names = strings.CutPrefix(text, "name ")
	text, unless, ok := strings.Cut(text, " unless ")
	if ok {
		if w.unless, err = compile(unless); err != nil {
			return w, err
		}
	}
	w.pattern, err = compile(text)
	return w, err
}

// compile makes a whole-word expression, in which a space stands for any space.
func compile(text string) (*regexp.Regexp, error) {
	return regexp.Compile(`(?i)\b(?:` + strings.ReplaceAll(strings.TrimSpace(text), " ", `\s+`) + `)\b`)
}

func (l lists) isPending(file string) bool {
	for _, folder := range l.pending {
		if below(file, folder) {
			return true
		}
	}
	return false
}

// words finds the words of a file that have a replacement.
func (l lists) words(file string, content []byte) (findings []Finding) {
	if !hasText(file, content) {
		return nil
	}
	lines := strings.Split(string(content), "\n")
	note := func(line int, found, instead string) {
		if !l.isAllowed(file, lines[line-1]) {
			findings = append(findings, Finding{file, line, fmt.Sprintf("%q: write %s", strings.Join(strings.Fields(found), " "), instead)})
		}
	}
	blocks, names := prose(file, content), []block(nil)
	if strings.HasSuffix(file, ".go") {
		_, names = goText(content)
		for _, b := range names {
			if strings.HasSuffix(file, "_test.go") && sentence.MatchString(b.text) {
				note(b.line, b.text, "TestSubject_Behaviour: a test's name is not a sentence")
			}
		}
		names = append(names, block{1, strings.TrimSuffix(path.Base(file), ".go")})
	}
	for _, w := range l.replaced {
		if w.folder != "" && !below(file, w.folder) {
			continue
		}
		for _, b := range blocks {
			for _, at := range w.pattern.FindAllStringIndex(b.text, -1) {
				if !w.excused(b.text, at) {
					note(b.line+strings.Count(b.text[:at[0]], "\n"), b.text[at[0]:at[1]], w.instead)
				}
			}
		}
		if !w.names {
			continue
		}
		for _, b := range names {
			if words := split(b.text); w.pattern.MatchString(words) && !w.excused(words, []int{0, len(words)}) {
				note(b.line, b.text, w.instead)
			}
		}
	}
	return findings
}

func (w word) excused(text string, at []int) bool {
	return w.unless != nil && w.unless.MatchString(text[max(0, at[0]-around):min(len(text), at[1]+around)])
}

func (l lists) isAllowed(file, line string) bool {
	for _, u := range l.allowed {
		matched, _ := path.Match(u.path, file)
		if (u.path == "*" || matched || below(file, u.path)) && u.pattern.MatchString(line) {
			return true
		}
	}
	return false
}
