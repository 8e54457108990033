package save

import "time"

// settleTime is how long a file must not have changed before it counts as complete.
const settleTime = time.Second

// File identifies the content of a file: it differs if the file has changed. The zero value means that there is none.
type File struct {
	Device, Inode uint64
	Size          int64
	Modified      int64 // in nanoseconds
}

// Watch decides when the file that a job writes on a signal is complete: it is not the file from before the signal, it has
// content, no process has it open for writing, and it has not changed for settleTime. A job that renames a complete file to the
// path is safe anyway. One that writes in place may pause for longer than settleTime, so the caller looks whether the file is
// open.
type Watch struct {
	before, last File
	since        time.Time // when last was seen first, or was last seen open
	open         bool
}

// NewWatch returns a watch for a file as it was before the signal.
func NewWatch(before File, now time.Time) Watch {
	return Watch{before: before, last: before, since: now}
}

// Settled reports whether the file is complete unless a process has it open for writing.
func (w *Watch) Settled(now time.Time, f File) bool {
	if f != w.last {
		w.last, w.since, w.open = f, now, false
		return false
	}
	return f != w.before && f.Size > 0 && w.Quiet(now)
}

// Open notes that a process has the file open for writing.
func (w *Watch) Open(now time.Time) { w.since, w.open = now, true }

// Quiet reports whether the file has not changed for a while.
func (w *Watch) Quiet(now time.Time) bool { return now.Sub(w.since) >= settleTime }

// Missing says why the file is not complete.
func (w *Watch) Missing() string {
	switch {
	case w.last == (File{}):
		return "it has written no file there"
	case w.last == w.before:
		return "the file there is the one from before"
	case w.last.Size == 0:
		return "the file there is empty"
	case w.open:
		return "it still had the file open for writing"
	}
	return "it was still writing"
}
