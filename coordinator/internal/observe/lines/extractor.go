package lines

import "time"

// Stream is a stream of text of one container. A file has only Stdout.
type Stream int

// The streams of a log.
const (
	Stdout Stream = iota
	Stderr
	streamCount
)

// Silence is the time without new text after which an unfinished record is read.
const Silence = 2 * time.Second

// bufferSize is the granularity of the buffers through which programs and container runtimes write. A text that ends at
// a multiple of it was probably cut in the middle of a number.
const bufferSize = 4 << 10

// Extractor passes the reports in the streams of one container to a sink. It must not be used concurrently.
type Extractor struct {
	reader    *Reader
	sink      Sink
	pace      pace
	streams   [streamCount]stream
	unmatched unmatched
	muted     bool
}

// stream is the state of one stream.
type stream struct {
	splitter Splitter
	position int64     // in what was written at once
	written  time.Time // of the last text
	unread   bool      // the unfinished record has text that was not searched
	// shown is the report of the unfinished record, and shownAt the position of its value in the record; −1 without one.
	shown   found
	shownAt int64
}

// NewExtractor returns an extractor at the beginning of a log or a file.
func NewExtractor(reader *Reader, sink Sink) *Extractor {
	x := &Extractor{reader: reader, sink: sink, pace: pace{sink: sink}}
	x.Reset()
	return x
}

// Reset starts again at the beginning of the streams.
func (x *Extractor) Reset() {
	for i := range x.streams {
		x.streams[i] = stream{shownAt: -1}
	}
}

// Skip drops the rest of the current record of each stream, for a start in the middle of the text.
func (x *Extractor) Skip() {
	x.Reset()
	for i := range x.streams {
		x.streams[i].splitter.Skip = true
	}
}

// Mute prevents reports while text is read again that an earlier coordinator has read. It finds where records begin.
func (x *Extractor) Mute(muted bool) {
	x.muted = muted
	for i := range x.streams {
		x.streams[i].unread = false
	}
}

// Seek sets the position of the next text in what the program or the container runtime writes at once: in a file, or in
// an entry of a log.
func (x *Extractor) Seek(s Stream, position int64) { x.streams[s].position = position }

// Write adds text to a stream and reports the records that end in it.
func (x *Extractor) Write(s Stream, piece []byte, now time.Time) {
	if len(piece) == 0 {
		return
	}
	st := &x.streams[s]
	st.position += int64(len(piece))
	st.written = now
	st.splitter.Take(piece, func(text []byte) { x.end(st, text, now) })
	st.unread = len(st.splitter.Rest()) > 0
}

// Poll reads the unfinished records. A number counts once the text after it shows that it is complete, or after Silence.
func (x *Extractor) Poll(now time.Time) {
	for i := range x.streams {
		st := &x.streams[i]
		if !st.unread {
			continue
		}
		silent := now.Sub(st.written) >= Silence
		st.unread = !silent
		x.readRest(st, silent && st.position%bufferSize != 0)
	}
	x.pace.flush()
	if records, example, due := x.unmatched.due(now); due {
		x.sink.Unmatched(records, example)
	}
}

// Restart ends the records of a container that has restarted.
func (x *Extractor) Restart(now time.Time) {
	x.End(now)
	x.reader.Restart()
	x.sink.Restarted()
}

// End ends the unfinished records: the container or the file has ended.
func (x *Extractor) End(now time.Time) {
	for i := range x.streams {
		st := &x.streams[i]
		x.end(st, st.splitter.Rest(), now)
	}
	x.pace.flush()
	x.Reset()
}

// end reports a record that has ended.
func (x *Extractor) end(st *stream, text []byte, now time.Time) {
	f, ok := x.reader.match(text)
	switch {
	case x.muted:
	case !ok:
		x.unmatched.add(text, x.reader.metric, now)
	default:
		x.report(st, f)
	}
	st.shownAt = -1
}

// readRest reports an unfinished record. Without silent, only numbers that are complete count. If the user's expression
// has a step, it must be there as well.
func (x *Extractor) readRest(st *stream, silent bool) {
	if x.muted {
		return
	}
	rest := st.splitter.Rest()
	f, ok := x.reader.match(rest)
	if ok && !silent && !f.closed { // the match before it may be complete
		f, ok = x.reader.match(rest[:min(f.at, len(rest))])
	}
	if !ok || !silent && (!f.closed || x.reader.plain()) || f.step < 0 && x.reader.expectsStep() {
		return
	}
	x.report(st, f)
	st.shown, st.shownAt = f, st.splitter.position()+int64(f.at)
}

// report passes a match to the sink, unless it was reported before the record was complete.
func (x *Extractor) report(st *stream, f found) {
	x.unmatched.done = true
	again := st.shownAt >= 0 && st.shownAt == st.splitter.position()+int64(f.at)
	if x.reader.skips(f) || again && f.equals(st.shown) {
		return
	}
	p, counted := x.reader.report(f, again)
	x.pace.report(p, counted)
}
