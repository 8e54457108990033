package main

import (
	"strings"
	"testing"
)

func TestLists_Parse(t *testing.T) {
	if _, err := readLists(); err != nil {
		t.Fatal(err)
	}
}

func TestWords_FindsAndExcuses(t *testing.T) {
	l := lists{allowed: nil}
	for _, line := range []string{
		"can not => cannot", "name wish(es)? => Request", "meets? unless meets? (the )?goal => handle", "in plugin name epochs? => generation",
	} {
		w, err := parseWord(line)
		if err != nil {
			t.Fatal(err)
		}
		l.replaced = append(l.replaced, w)
	}
	for name, tc := range map[string]struct{ file, text, want string }{
		"a comment":                 {"a.go", "package a\n\n// It can not be.\n", `a.go:3: "can not": write cannot`},
		"a phrase over two lines":   {"a.go", "package a\n\n// It can\n// not be.\n", `a.go:3: "can not": write cannot`},
		"a string":                  {"a.go", "package a\n\nconst a = \"can not\"\n", `a.go:3: "can not": write cannot`},
		"a word inside another":     {"a.go", "package a\n\n// toucan nothing\n", ""},
		"a name":                    {"a.go", "package a\n\ntype podWish int\n", `a.go:3: "podWish": write Request`},
		"a name in prose rules":     {"a.go", "package a\n\nvar meets int\n", ""},
		"a file's name":             {"wish.go", "package a\n", `wish.go:1: "wish": write Request`},
		"surroundings that excuse":  {"a.md", "It meets the goal.\n", ""},
		"surroundings that do not":  {"a.md", "It meets kubelet.\n", `a.md:1: "meets": write handle`},
		"another folder":            {"jobs/a.py", "epoch = 1\n", ""},
		"the folder":                {"plugin/a.go", "package a\n\nvar epoch int\n", `plugin/a.go:3: "epoch": write generation`},
		"Markdown over two lines":   {"a.md", "# Title\n\nIt can\nnot.\n", `a.md:3: "can not": write cannot`},
		"YAML":                      {"a.yaml", "a: 1\n# It can\n# not.\n", `a.yaml:2: "can not": write cannot`},
		"a test that is a sentence": {"a_test.go", "package a\n\nfunc TestTheWorld() {}\n", `a_test.go:3: "TestTheWorld": write TestSubject_Behaviour: a test's name is not a sentence`},
		"data":                      {"a.csv", "can not\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range l.words(tc.file, []byte(tc.text)) {
				got = append(got, f.String())
			}
			if text := strings.Join(got, "\n"); text != tc.want {
				t.Errorf("got %q, want %q", text, tc.want)
			}
		})
	}
}

func TestGoShape_Limits(t *testing.T) {
	body := strings.Repeat("\tprintln()\n", 79)
	findings, exempt := goShape("util/a.go", []byte("package util\n\nfunc long() {\n"+body+"}\n\nfunc f() {} //nolint:unused // why\n"))
	if len(findings) != 2 || findings[0].Line != 1 || findings[1].Text != "long has 81 lines: 80 at most" {
		t.Errorf("findings: %v", findings)
	}
	if len(exempt) != 1 || exempt[0] != "util/a.go:85" {
		t.Errorf("directives: %v", exempt)
	}
}

func TestLong_Subjects(t *testing.T) {
	fits := strings.Repeat("ä", longest)
	if got := long([]byte("abc " + fits + "\n")); len(got) != 0 {
		t.Errorf("72 characters: %v", got)
	}
	if got := long([]byte("abc " + fits + "x\n")); len(got) != 1 || got[0].Path != "commit abc" {
		t.Errorf("73 characters: %v", got)
	}
}

func TestSplit_Identifiers(t *testing.T) {
	for name, want := range map[string]string{"newDiaryOf": "new diary of", "PodUID": "pod uid", "snake_case": "snake case", "Wish": "wish"} {
		if got := split(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestGoShape_LogKeys(t *testing.T) {
	text := "package a\n\nfunc f() {\n\tlog.Warn(\"m\", \"pod\", p, \"reason\", err)\n\tlog.Info(\"m\", \"reason\", why)\n\tlog.Error(\"m\", \"err\", err)\n}\n"
	findings, _ := goShape("a.go", []byte(text))
	if len(findings) != 1 || findings[0].Line != 4 {
		t.Errorf("findings: %v", findings)
	}
}
