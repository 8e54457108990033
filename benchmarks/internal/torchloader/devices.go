package torchloader

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/benchmarks/internal/strictcsv"
)

// Bounds of the devices of a job.
const (
	maxNodes   = 64
	maxDevices = 64 // of a node
	maxDevice  = 1023
	maxName    = 63
)

// parseNodes parses the field cuda_device in any of its forms.
func parseNodes(field string) ([]Node, error) {
	s := &scanner{text: field}
	var nodes []Node
	var err error
	switch s.skip(); s.next() {
	case '[':
		nodes, err = s.unnamed()
	case '{':
		nodes, err = s.named()
	default:
		var only Node
		only.Devices, err = s.devices(0)
		nodes = []Node{only}
	}
	if err != nil {
		return nil, err
	}
	if s.skip(); s.next() != 0 {
		return nil, s.expected("the end of the field")
	}
	return nodes, nil
}

// scanner reads a field from left to right.
type scanner struct {
	text string
	at   int
}

// next returns the next byte, or 0 at the end. A byte 0 within the field is no part of any form.
func (s *scanner) next() byte {
	if s.at == len(s.text) {
		return 0
	}
	return s.text[s.at]
}

// skip moves over separators.
func (s *scanner) skip() { s.over(" ,\t") }

// over moves over bytes of a set and returns them.
func (s *scanner) over(set string) string {
	from := s.at
	for s.at < len(s.text) && strings.IndexByte(set, s.text[s.at]) >= 0 {
		s.at++
	}
	return s.text[from:s.at]
}

// take moves over one byte.
func (s *scanner) take(want byte) error {
	if s.skip(); s.next() != want {
		return s.expected(fmt.Sprintf("%q", want))
	}
	s.at++
	return nil
}

func (s *scanner) expected(what string) error {
	return fmt.Errorf("%q: expected %s at character %d of the field", s.text, what, s.at+1)
}

// unnamed reads ["0 1" "0 1"].
func (s *scanner) unnamed() (nodes []Node, err error) {
	s.at++
	for s.skip(); s.next() != ']'; s.skip() {
		quote, err := s.quote()
		if err != nil {
			return nil, err
		}
		devices, err := s.devices(quote)
		if err != nil {
			return nil, err
		}
		if nodes = append(nodes, Node{Devices: devices}); len(nodes) > maxNodes {
			return nil, fmt.Errorf("more than %d nodes", maxNodes)
		}
	}
	return nodes, s.close(nodes)
}

// named reads {'d3091':[0 1]}.
func (s *scanner) named() (nodes []Node, err error) {
	s.at++
	for s.skip(); s.next() != '}'; s.skip() {
		n, err := s.node()
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(nodes, func(other Node) bool { return other.Name == n.Name }) {
			return nil, fmt.Errorf("node %q occurs twice", n.Name)
		}
		if nodes = append(nodes, n); len(nodes) > maxNodes {
			return nil, fmt.Errorf("more than %d nodes", maxNodes)
		}
	}
	return nodes, s.close(nodes)
}

// close moves over the closing bracket.
func (s *scanner) close(nodes []Node) error {
	if len(nodes) == 0 {
		return s.expected("a node")
	}
	s.at++
	return nil
}

// node reads 'd3091':[0 1].
func (s *scanner) node() (n Node, err error) {
	quote, err := s.quote()
	if err != nil {
		return n, err
	}
	n.Name = s.over("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")
	if n.Name == "" || len(n.Name) > maxName {
		return n, s.expected(fmt.Sprintf("the name of a node, of at most %d characters,", maxName))
	}
	for _, c := range []byte{quote, ':', '['} {
		if err := s.take(c); err != nil {
			return n, err
		}
	}
	n.Devices, err = s.devices(']')
	return n, err
}

func (s *scanner) quote() (byte, error) {
	quote := s.next()
	if quote != '"' && quote != '\'' {
		return 0, s.expected("a quote")
	}
	s.at++
	return quote, nil
}

// devices reads numbers up to a byte and that byte, or up to the end if it is 0.
func (s *scanner) devices(end byte) (all []int, err error) {
	for s.skip(); s.next() != end || s.at == len(s.text) && end != 0; s.skip() {
		digits := s.over("0123456789")
		device, err := strictcsv.Whole(digits, 0, maxDevice)
		if err != nil {
			return nil, s.expected(fmt.Sprintf("a device from 0 to %d", maxDevice))
		}
		if slices.Contains(all, device) {
			return nil, fmt.Errorf("device %d occurs twice on a node", device)
		}
		if all = append(all, device); len(all) > maxDevices {
			return nil, fmt.Errorf("more than %d devices on a node", maxDevices)
		}
	}
	if len(all) == 0 {
		return nil, s.expected("a device")
	}
	if end != 0 {
		s.at++
	}
	return all, nil
}
