package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Finding is one violation, at a line of a file. Commits have no line.
type Finding struct {
	Path string
	Line int
	Text string
}

func (f Finding) String() string {
	if f.Line == 0 {
		return f.Path + ": " + f.Text
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text)
}

func main() {
	root := flag.String("root", "../..", "folder of the repository")
	pending := flag.Bool("pending", false, "check the folders of pending.txt too")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "habits [flags] [path prefix ...]: check words, functions, names and commit subjects")
		flag.PrintDefaults()
	}
	flag.Parse()
	findings, err := check(*root, *pending, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "habits:", err)
		os.Exit(2)
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	if len(findings) > 0 {
		fmt.Printf("%d findings. scripts/habits/words.txt has the words, allowed.txt the exceptions.\n", len(findings))
		os.Exit(1)
	}
}

// check runs all checks on the tracked files below the prefixes; no prefix means all files and the commits.
func check(root string, pending bool, prefixes []string) ([]Finding, error) {
	lists, err := readLists()
	if err != nil {
		return nil, err
	}
	files, err := tracked(root)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	if len(prefixes) == 0 {
		if findings, err = subjects(root); err != nil {
			return nil, err
		}
	}
	var exempt []string // files with a nolint directive
	for _, path := range files {
		if !under(path, prefixes) {
			continue
		}
		content, err := os.ReadFile(root + "/" + path)
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			return nil, err
		}
		if lists.isPending(path) && !pending {
			continue
		}
		findings = append(findings, lists.words(path, content)...)
		if strings.HasSuffix(path, ".go") {
			shape, directives := goShape(path, content)
			findings = append(findings, shape...)
			exempt = append(exempt, directives...)
		}
	}
	if len(exempt) > 1 {
		findings = append(findings, Finding{Path: strings.Join(exempt, ", "), Text: "more than one nolint directive in the tree"})
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Path, b.Path), a.Line-b.Line) })
	return findings, nil
}

// under reports whether a path is below one of the prefixes; no prefix means every path.
func under(path string, prefixes []string) bool {
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(prefix string) bool { return below(path, prefix) })
}

// below reports whether a path is the prefix or inside that folder.
func below(path, prefix string) bool {
	prefix = strings.TrimSuffix(prefix, "/")
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}
