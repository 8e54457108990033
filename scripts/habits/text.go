package main

import (
	"bytes"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// block is prose that begins at a line of a file. A phrase may be wrapped inside of a block.
type block struct {
	line int
	text string
}

// kinds are the names of files whose text is checked, besides scripts.
var kinds = []string{"*.go", "*.md", "*.py", "*.yaml", "*.yml", "*.sh", "*.txt", "*.toml", "Makefile", "*.Dockerfile"}

// hasText reports whether a file is one whose text is checked.
func hasText(file string, content []byte) bool {
	for _, kind := range kinds {
		if ok, _ := path.Match(kind, path.Base(file)); ok {
			return true
		}
	}
	return bytes.HasPrefix(content, []byte("#!"))
}

// marker matches what begins a line of a comment or quotation.
var marker = regexp.MustCompile(`(?m)^[ \t]*(#|//|>)[ \t]?`)

// prose is the text of a file: comments and strings of Go, all of anything else.
func prose(file string, content []byte) []block {
	if strings.HasSuffix(file, ".go") {
		blocks, _ := goText(content)
		return blocks
	}
	return []block{{1, marker.ReplaceAllString(string(content), "")}}
}

// goText splits a Go file into prose and identifiers. Comments on successive lines are one block.
func goText(content []byte) (blocks, names []block) {
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", -1, len(content)), content, nil, scanner.ScanComments)
	last := -1 // line of the comment before
	for {
		pos, kind, text := s.Scan()
		line := files.Position(pos).Line
		switch kind {
		case token.EOF:
			return blocks, names
		case token.COMMENT:
			text = marker.ReplaceAllString(text, "")
			if line == last+1 {
				blocks[len(blocks)-1].text += "\n" + text
			} else {
				blocks = append(blocks, block{line, text})
			}
			last = line + strings.Count(text, "\n")
		case token.STRING:
			blocks = append(blocks, block{line, text})
		case token.IDENT:
			names = append(names, block{line, text})
		}
	}
}

// split takes an identifier apart: "newDiaryOf" is "new diary of".
func split(identifier string) string {
	var words strings.Builder
	before := rune(0)
	for _, r := range identifier {
		if unicode.IsUpper(r) && !unicode.IsUpper(before) || r == '_' {
			words.WriteByte(' ')
		}
		if r != '_' {
			words.WriteRune(unicode.ToLower(r))
		}
		before = r
	}
	return strings.TrimSpace(words.String())
}
