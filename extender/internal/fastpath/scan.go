package fastpath

import "bytes"

// scanned is the body of filter or prioritize in the form that a scheduler with nodeCacheCapable: true sends. Only the
// names are decoded.
type scanned struct {
	// pod is the text of the pod, a part of the body. It may be invalid JSON.
	pod   []byte
	names *nameList
}

// scan reads such a body. It returns false for every body that differs from that form in any byte. Thousands of
// names make these bodies large, and the scheduler waits for each answer: the text of a known list is only compared.
func scan(body []byte, known []*nameList) (scanned, bool) {
	var found scanned
	s := scanner{text: body}
	s.expect('{')
	for first := true; !s.failed && !s.next('}'); first = false {
		if !first {
			s.expect(',')
		}
		key := s.name()
		s.expect(':')
		switch {
		case string(key) == "Pod" && found.pod == nil:
			found.pod = s.object()
		case string(key) == "NodeNames" && found.names == nil:
			found.names = s.list(known)
		case string(key) == "Nodes":
			s.null()
		default: // a repeated key too
			return scanned{}, false
		}
	}
	s.space()
	complete := s.at == len(s.text) && found.pod != nil && found.names != nil
	return found, !s.failed && complete
}

// scanner reads a text from its start. Its results mean nothing after a failure.
type scanner struct {
	text   []byte
	at     int
	failed bool
}

func (s *scanner) space() {
	for s.at < len(s.text) && bytes.IndexByte([]byte(" \t\r\n"), s.text[s.at]) >= 0 {
		s.at++
	}
}

// next reads a character if it is the next one.
func (s *scanner) next(c byte) bool {
	s.space()
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

// name reads a string of printable ASCII without escapes. Names of nodes have no other characters.
func (s *scanner) name() []byte {
	s.expect('"')
	name, _, closed := bytes.Cut(s.text[s.at:], []byte(`"`))
	if !closed || !plain(name) {
		s.failed = true
		return nil
	}
	s.at += len(name) + 1
	return name
}

// list reads an array of names. It compares the text with the known lists first.
func (s *scanner) list(known []*nameList) *nameList {
	s.space()
	for _, k := range known {
		if len(k.text) <= len(s.text)-s.at && string(s.text[s.at:s.at+len(k.text)]) == k.text { // without an allocation
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
	s.space()
	if !bytes.HasPrefix(s.text[s.at:], []byte("null")) {
		s.failed = true
		return
	}
	s.at += len("null")
}

// object returns the text of an object, found by its braces outside of strings. The JSON decoder checks the rest.
func (s *scanner) object() []byte {
	s.space()
	from, depth := s.at, 0
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '"':
			s.at = s.endOfString(s.at + 1)
		case '{':
			depth++
		case '}':
			depth--
			if depth == 0 {
				s.at++
				return s.text[from:s.at]
			}
		}
		if depth == 0 {
			break // not an object
		}
	}
	s.failed = true
	return nil
}

// endOfString returns the position of the closing quote of a string whose content starts at a position.
func (s *scanner) endOfString(at int) int {
	for ; at < len(s.text) && s.text[at] != '"'; at++ {
		if s.text[at] == '\\' {
			at++
		}
	}
	return at
}
