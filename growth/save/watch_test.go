package save_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/save"
)

func TestWatch(t *testing.T) {
	const late = 100 // looks: ten seconds
	old := save.File{Device: 1, Inode: 7, Size: 100, Modified: 1}
	longer := save.File{Device: 1, Inode: 7, Size: 200, Modified: 2}
	renamed := save.File{Device: 1, Inode: 8, Size: 100, Modified: 3}
	for name, tc := range map[string]struct {
		before save.File
		seen   func(look int) save.File // ten looks a second
		open   func(look int) bool
		done   int // the look at which it is complete; 0: never
		why    string
	}{
		"another file is renamed to the path":  {before: old, seen: from(3, old, renamed), done: 13},
		"the first file of all":                {seen: from(3, save.File{}, renamed), done: 13},
		"it is written again in place":         {before: old, seen: from(3, old, longer), done: 13},
		"it is written, and then more":         {before: old, seen: from(3, old, renamed, 8, longer), done: 18},
		"a pause while it is open":             {before: old, seen: from(3, old, renamed, 60, longer), open: until(60), done: 70},
		"nothing happens":                      {before: old, seen: from(0, old, old), why: "the file there is the one from before"},
		"no file appears":                      {seen: from(0, save.File{}, save.File{}), why: "it has written no file there"},
		"an empty file":                        {before: old, seen: from(3, old, save.File{Device: 1, Inode: 9}), why: "the file there is empty"},
		"it is removed":                        {before: old, seen: from(3, old, save.File{}), why: "it has written no file there"},
		"its writer does not end":              {before: old, seen: from(3, old, longer), open: until(late + 1), why: "it still had the file open for writing"},
		"it never stops growing":               {before: old, seen: grows, why: "it was still writing"},
		"it is removed and then written again": {before: old, seen: from(3, old, save.File{}, 9, renamed), done: 19},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1_700_000_000, 0)
			w := save.NewWatch(tc.before, now)
			done := 0
			for look := 1; look <= late && done == 0; look++ {
				now = now.Add(100 * time.Millisecond)
				switch settled := w.Settled(now, tc.seen(look)); {
				case settled && tc.open != nil && tc.open(look):
					w.Open(now)
				case settled:
					done = look
				}
			}
			require.Equal(t, tc.done, done)
			if tc.done == 0 {
				require.Equal(t, tc.why, w.Missing())
			}
		})
	}
}

// from returns a file that is first, from a look on second, and from another look on third.
func from(look int, first, second save.File, more ...any) func(int) save.File {
	return func(at int) save.File {
		switch {
		case len(more) == 2 && at >= more[0].(int):
			return more[1].(save.File)
		case at >= look:
			return second
		}
		return first
	}
}

func until(look int) func(int) bool { return func(at int) bool { return at < look } }

func grows(look int) save.File {
	return save.File{Device: 1, Inode: 9, Size: int64(look), Modified: int64(look)}
}
