package chaos

import (
	"bufio"
	"io"
	"strings"
	"time"
)

// Lines calls a function with each line of a log in which every line begins with its time, until the stream breaks. since
// follows the time of the last line, however long the function takes: a stream that is opened again from there has no gap. Lines of
// that second come twice.
func Lines(stream io.Reader, since *time.Time, line func(text string)) {
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		stamp, text, _ := strings.Cut(lines.Text(), " ")
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
			*since = at
		}
		line(text)
	}
}
