package podlog

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
)

// ErrFormat means that the log of a container is in a format that cannot be read.
var ErrFormat = errors.New("its format is not supported")

// minUnknown is the number of lines in an unknown format after which the format is reported.
const minUnknown = 5

// format observes the format of a log.
type format struct {
	known   bool // an entry was parsed
	unknown int
	first   string // what the first unknown line looks like
}

// observe adds a line that was parsed with this result.
func (f *format) observe(line []byte, err error) {
	switch {
	case err == nil:
		f.known = true
	case len(bytes.TrimSpace(line)) > 0:
		if f.unknown == 0 {
			f.first = describe(line)
		}
		f.unknown++
	}
}

// err returns ErrFormat with the name of the format if no line could be parsed.
func (f *format) err() error {
	if f.known || f.unknown < minUnknown {
		return nil
	}
	return fmt.Errorf("%w: it looks like %s", ErrFormat, f.first)
}

var looks = []struct {
	line *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`^\s*\{.*"log"\s*:`), "Docker's json-file without a stream"},
	{regexp.MustCompile(`^\s*\{`), "JSON lines of another log driver or of the program itself"},
	{regexp.MustCompile(`^__[A-Z_]+=`), "an export of systemd's journal"},
	{regexp.MustCompile(`^<\d{1,3}>\d? ?`), "syslog"},
	{regexp.MustCompile(`^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d `), "syslog"},
	{regexp.MustCompile(`^(?:time|ts|level)=`), "logfmt"},
	{regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d`), "plain text with a time in each line"},
	{regexp.MustCompile(`^[\x00-\x08\x0e-\x1a]`), "Docker's local driver or another binary format"},
}

// describe names the format that a line looks like.
func describe(line []byte) string {
	line = line[:min(len(line), 1024)]
	for _, l := range looks {
		if l.line.Match(line) {
			return l.name
		}
	}
	return "plain text"
}
