package webhook

import (
	"slices"
	"strings"
)

// nameList is a list of names in JSON and what it says. Neither changes.
type nameList struct {
	text  string // from [ to ]
	names []string
}

// newNameList splits a list that the scanner has read: count strings without escapes.
func newNameList(text string, count int) *nameList {
	l := &nameList{text: text, names: make([]string, 0, count)}
	for rest := text; len(l.names) < count; {
		_, rest, _ = strings.Cut(rest, `"`)
		name, after, _ := strings.Cut(rest, `"`)
		l.names, rest = append(l.names, name), after
	}
	return l
}

// Bounds of the lists that are remembered: those of a handful of sizes of pods, in a cluster of 15,000 nodes.
const (
	mostLists = 8
	mostText  = 1 << 20
)

// remembered puts a list first, and drops what has not been asked about for longest.
func remembered(known []*nameList, l *nameList) []*nameList {
	if len(l.text) > mostText {
		return known
	}
	next := make([]*nameList, 1, mostLists)
	next[0] = l
	for _, k := range known {
		if k != l && len(next) < mostLists {
			next = append(next, k)
		}
	}
	return next
}

// first tells whether a list is where it is found at once.
func first(known []*nameList, l *nameList) bool { return slices.Index(known, l) == 0 }
