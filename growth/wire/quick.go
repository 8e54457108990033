package wire

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trellis-gpu/trellis/growth"
)

// Decoder decodes the reports of one connection. All reports of a process name the same metrics, so they share the names.
type Decoder struct {
	names map[string]string
	free  Metrics // room for the metrics of the next reports, which one allocation serves
}

const (
	// maxNames bounds the names that a Decoder keeps.
	maxNames = 2 * MaxMetrics
	// roomSize is the number of metrics of the usual report, and roomFor the number of reports per allocation.
	roomSize = 2
	roomFor  = 16
)

// Report decodes a report as the shim writes it, without spaces, escapes, unknown fields and names that are not ASCII,
// much faster than encoding/json: a full node receives hundreds of reports a second. It returns false for any other
// line, which is left to Decode, and for a report that is out of range. Otherwise into equals the result of Decode.
func (d *Decoder) Report(line []byte, into *Progress) bool {
	*into = Progress{}
	return len(line) <= MaxLine && d.quick(bytes.TrimSuffix(line, []byte("\n")), into) && into.check() == nil
}

func (d *Decoder) quick(line []byte, p *Progress) bool {
	s := scanner(line)
	if !s.skip(`{"v":1,"type":"progress"`) {
		return false
	}
	for s.skip(",") {
		name, ok := s.name()
		if !ok || !d.field(&s, string(name), p) {
			return false
		}
	}
	return s.skip("}") && len(s) == 0
}

// name returns a name as a string that reports share.
func (d *Decoder) name(name []byte) string {
	if known, ok := d.names[string(name)]; ok {
		return known
	}
	if d.names == nil {
		d.names = map[string]string{}
	}
	text := string(name)
	if len(d.names) < maxNames {
		d.names[text] = text
	}
	return text
}

// scanner is the rest of a line.
type scanner []byte

func (s *scanner) skip(text string) bool {
	if len(*s) < len(text) || string((*s)[:len(text)]) != text {
		return false
	}
	*s = (*s)[len(text):]
	return true
}

// name reads the name of a field and the colon after it.
func (s *scanner) name() ([]byte, bool) {
	if !s.skip(`"`) {
		return nil, false
	}
	for end, c := range *s {
		switch {
		case c == '"':
			name := (*s)[:end]
			*s = (*s)[end+1:]
			return name, s.skip(":")
		case c < ' ' || c == '\\' || c >= utf8.RuneSelf:
			return nil, false
		}
	}
	return nil, false
}

func (d *Decoder) field(s *scanner, name string, p *Progress) bool {
	switch name {
	case "step":
		return s.count(&p.Step)
	case "epoch":
		return s.count(&p.Epoch)
	case "total_steps":
		return s.count(&p.TotalSteps)
	case "steps":
		return s.count(&p.Steps)
	case "samples":
		return s.count(&p.Samples)
	case "step_seconds":
		return s.seconds(&p.StepSeconds)
	case "load_seconds":
		return s.seconds(&p.LoadSeconds)
	case "batch_size":
		return s.small(&p.BatchSize)
	case "loaders":
		return s.small(&p.Loaders)
	case "rank":
		return s.small(&p.Rank)
	case "local_rank":
		return s.small(&p.LocalRank)
	case "world_size":
		return s.worldSize(p)
	case "metrics":
		return d.metrics(s, p)
	case "batch", "gradients", "gpu_memory_mib":
		return s.batchField(name, p)
	}
	return false
}

func (d *Decoder) metrics(s *scanner, p *Progress) bool {
	if !s.skip("{") {
		return false
	}
	m := p.Metrics
	if m == nil {
		m = d.room()
	}
	for first := true; !s.skip("}"); first = false {
		if !first && !s.skip(",") {
			return false
		}
		name, ok := s.name()
		if !ok {
			return false
		}
		var value float64
		if !s.number(&value) {
			return false
		}
		m.Set(d.name(name), value)
	}
	if len(m) > 0 {
		p.Metrics = m
	}
	return true
}

// room returns an empty slice with room for the metrics of the usual report.
func (d *Decoder) room() Metrics {
	if len(d.free) == 0 {
		d.free = make(Metrics, roomFor*roomSize)
	}
	m := d.free[:0:roomSize]
	d.free = d.free[roomSize:]
	return m
}

// count reads a number of at most 18 digits, which fits an int64.
func (s *scanner) count(into *int64) bool {
	n, digits := int64(0), 0
	for digits < len(*s) && (*s)[digits] >= '0' && (*s)[digits] <= '9' && digits < 18 {
		n = 10*n + int64((*s)[digits]-'0')
		digits++
	}
	if digits == 0 || digits > 1 && (*s)[0] == '0' {
		return false
	}
	*into, *s = n, (*s)[digits:]
	return true
}

func (s *scanner) small(into **int) bool {
	var n int64
	if !s.count(&n) || n > maxBatch {
		return false
	}
	*into = new(int(n))
	return true
}

func (s *scanner) worldSize(p *Progress) bool {
	var n int64
	if !s.count(&n) || n > MaxRanks {
		return false
	}
	p.WorldSize = int(n)
	return true
}

func (s *scanner) seconds(into *growth.Seconds) bool { return s.number((*float64)(into)) }

// number reads a number in JSON's grammar, which is stricter than that of strconv.
func (s *scanner) number(into *float64) bool {
	end := 0
	digits := func() bool {
		from := end
		for end < len(*s) && (*s)[end] >= '0' && (*s)[end] <= '9' {
			end++
		}
		return end > from
	}
	either := func(set string) bool {
		found := end < len(*s) && strings.IndexByte(set, (*s)[end]) >= 0
		if found {
			end++
		}
		return found
	}
	either("-")
	whole := end
	if !digits() || (*s)[whole] == '0' && end > whole+1 {
		return false
	}
	if either(".") && !digits() {
		return false
	}
	if either("eE") {
		either("+-")
		if !digits() {
			return false
		}
	}
	value, err := strconv.ParseFloat(string((*s)[:end]), 64)
	if err != nil {
		return false
	}
	*into, *s = value, (*s)[end:]
	return true
}
