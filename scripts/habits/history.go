package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"unicode/utf8"
)

// longest is the longest subject of a commit, in characters.
const longest = 72

// subjects checks the subjects of the commits since this file was added: older ones are as they are. In a shallow clone
// its oldest commit counts as the one that added all files.
func subjects(root string) ([]Finding, error) {
	added, err := git(root, "log", "--diff-filter=A", "--format=%H", "--", "scripts/habits/history.go")
	if err != nil {
		return nil, err
	}
	revisions := "HEAD"
	if commits := strings.Fields(string(added)); len(commits) > 0 {
		revisions = commits[len(commits)-1] + "..HEAD"
	}
	log, err := git(root, "log", "--no-merges", "--format=%h %s", revisions)
	if err != nil {
		return nil, err
	}
	return long(log), nil
}

// long lists the subjects that are too long in a log with a line "hash subject" per commit.
func long(log []byte) (findings []Finding) {
	for line := range bytes.Lines(log) {
		hash, subject, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if utf8.RuneCountInString(subject) > longest {
			findings = append(findings, Finding{Path: "commit " + hash, Text: "its subject has more than 72 characters: " + subject})
		}
	}
	return findings
}

// tracked lists the files that git knows, and new ones that it does not ignore.
func tracked(root string) ([]string, error) {
	out, err := git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

func git(root string, args ...string) ([]byte, error) {
	out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, nil
}
