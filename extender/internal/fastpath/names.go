package fastpath

import "strings"

// nameList is a JSON array of names and its content. Neither changes.
type nameList struct {
	text  string // from [ to ]
	names []string
}

// newNameList splits a valid array of count strings without escapes.
func newNameList(text string, count int) *nameList {
	l := &nameList{text: text, names: make([]string, 0, count)}
	rest := text
	for len(l.names) < count {
		_, rest, _ = strings.Cut(rest, `"`)
		name, after, _ := strings.Cut(rest, `"`)
		l.names = append(l.names, name)
		rest = after
	}
	return l
}

// Bounds of the cached lists: a handful of pod sizes in a cluster of 15,000 nodes.
const (
	maxLists    = 8
	maxListText = 1 << 20
)

// withRecent puts a list first, and drops the least recently used one beyond the bound.
func withRecent(lists []*nameList, l *nameList) []*nameList {
	if len(l.text) > maxListText {
		return lists
	}
	next := make([]*nameList, 1, maxLists)
	next[0] = l
	for _, other := range lists {
		if other != l && len(next) < maxLists {
			next = append(next, other)
		}
	}
	return next
}
