package webhook

import "bytes"

// parts is the body of filter or prioritize in the form that schedulers with nodeCacheCapable: true send, not looked
// into further than to find the names.
type parts struct {
	// pod is the text of the pod, a part of the body. It may be no JSON at all.
	pod   []byte
	names *nameList
}

// scan takes such a body apart. It returns false for every body that it does not know to be of that form, down to the
// last byte: then the general decoder has to say what it is. Thousands of names are what makes these bodies large, and
// the scheduler waits for each answer; a list that is known is not read again.
func scan(body []byte, known []*nameList) (parts, bool) {
	var p parts
	s := scanner{text: body}
	s.expect('{')
	for first := true; !s.failed && !s.next('}'); first = false {
		if !first {
			s.expect(',')
		}
		key := s.name()
		s.expect(':')
		switch {
		case string(key) == "Pod" && p.pod == nil:
			p.pod = s.object()
		case string(key) == "NodeNames" && p.names == nil:
			p.names = s.list(known)
		case string(key) == "Nodes":
			s.null()
		default: // also what is there twice
			return parts{}, false
		}
	}
	s.blank()
	return p, !s.failed && s.at == len(s.text) && p.pod != nil && p.names != nil
}

// scanner reads a text from its beginning. After a failure what it returns means nothing.
type scanner struct {
	text   []byte
	at     int
	failed bool
}

func (s *scanner) blank() {
	for s.at < len(s.text) && bytes.IndexByte([]byte(" \t\r\n"), s.text[s.at]) >= 0 {
		s.at++
	}
}

// next takes a character, if it is the next one.
func (s *scanner) next(c byte) bool {
	s.blank()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) expect(c byte) {
	if !s.next(c) {
		s.failed = true
	}
}

// name reads a string of printable ASCII without escapes, which is what names are made of.
func (s *scanner) name() []byte {
	s.expect('"')
	name, _, ended := bytes.Cut(s.text[s.at:], []byte(`"`))
	if !ended || !plain(name) {
		s.failed = true
		return nil
	}
	s.at += len(name) + 1
	return name
}

// list reads names, and finds them among the known lists first.
func (s *scanner) list(known []*nameList) *nameList {
	s.blank()
	for _, k := range known {
		if len(k.text) <= len(s.text)-s.at && string(s.text[s.at:s.at+len(k.text)]) == k.text { // compared where they are
			s.at += len(k.text)
			return k
		}
	}
	from, count := s.at, 0
	s.expect('[')
	for !s.failed && !s.next(']') {
		if count > 0 {
			s.expect(',')
		}
		s.name()
		count++
	}
	if s.failed {
		return nil
	}
	return newNameList(string(s.text[from:s.at]), count)
}

func (s *scanner) null() {
	s.blank()
	if !bytes.HasPrefix(s.text[s.at:], []byte("null")) {
		s.failed = true
		return
	}
	s.at += len("null")
}

// object finds the end of an object, by its braces outside of strings. What is between them is for the JSON decoder.
func (s *scanner) object() []byte {
	s.blank()
	from, depth := s.at, 0
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '"':
			s.at = s.pastString(s.at + 1)
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				s.at++
				return s.text[from:s.at]
			}
		}
		if depth == 0 {
			break // it did not begin with a brace
		}
	}
	s.failed = true
	return nil
}

// pastString returns where the string that began before at ends.
func (s *scanner) pastString(at int) int {
	for ; at < len(s.text) && s.text[at] != '"'; at++ {
		if s.text[at] == '\\' {
			at++
		}
	}
	return at
}
