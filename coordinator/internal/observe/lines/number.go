package lines

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"strconv"
)

// number matches a finite number, with or without a comma between thousands.
const number = `[-+]?(?:[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?`

// maxMagnitude is the bound on a finite metric in package wire.
const maxMagnitude = 1e300

// maxNumber bounds the text of a number, in bytes.
const maxNumber = 128

var (
	// leading matches the number at the beginning of a text, which may be in quotes or in a call such as tensor(0.5).
	// After an integer no comma and digit may follow: in "12,5" the comma is neither a separator of thousands nor the end.
	leading = regexp.MustCompile(`^["'(\[\s]*(?:[A-Za-z][\w.]*\()?\s*(` + number + `)\.?(?:[^\w.+-]|$)`)
	whole   = regexp.MustCompile(`^[-+]?\d+(?:,\d+)*$`)
	grouped = regexp.MustCompile(`\b[1-9]\d{0,2}(?:,\d{3})+\b`)
	quoted  = regexp.MustCompile(`["'](` + number + `|(?i:[-+]?(?:nan|inf(?:inity)?)))["']`)
	count   = regexp.MustCompile(`^["']?([1-9]\d{0,2}(?:,\d{3})+|\d+)`)
)

// parseValue parses the value that begins at start of text. end is the end of what the expression has captured. The
// number may be longer than that: "[0-9.]+" captures only a part of 2.3e-05. last is the end of the number.
func parseValue(text []byte, start, end int) (value float64, last int, ok bool) {
	if value, length, ok := parseNumber(text[start:min(len(text), start+maxNumber)]); ok {
		return value, max(end, start+length), true
	}
	value, _, ok = parseNumber(text[start:end])
	return value, end, ok
}

// parseNumber parses the number at the beginning of text, and returns its end.
func parseNumber(text []byte) (value float64, end int, ok bool) {
	at := leading.FindSubmatchIndex(text)
	if at == nil {
		return 0, 0, false
	}
	digits, after := text[at[2]:at[3]], text[at[3]:]
	if len(after) > 1 && after[0] == ',' && after[1] >= '0' && after[1] <= '9' && whole.Match(digits) {
		return 0, 0, false
	}
	value, err := strconv.ParseFloat(string(bytes.ReplaceAll(digits, []byte{','}, nil)), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, 0, false
	}
	if math.Abs(value) > maxMagnitude {
		value = math.Inf(int(math.Copysign(1, value)))
	}
	return value, at[3], true
}

// parseCount parses the number of steps, or the number of another kind, that begins at start of text. last is its end.
func parseCount(text []byte, start, end int) (n int64, last int, ok bool) {
	at := count.FindSubmatchIndex(text[start:min(len(text), start+maxNumber)])
	if at == nil {
		return 0, end, false
	}
	digits := text[start+at[2] : start+at[3]]
	if !bytes.ContainsRune(digits, ',') { // the expression may capture fewer digits
		digits = text[start+at[2] : max(start+at[2], min(start+at[3], end))]
	}
	n, err := strconv.ParseInt(string(bytes.ReplaceAll(digits, []byte{','}, nil)), 10, 53)
	return n, max(end, start+at[3]), err == nil
}

// withoutQuotesAndCommas removes the quotes around numbers and the commas between thousands.
func withoutQuotesAndCommas(text []byte) []byte {
	if !bytes.ContainsAny(text, `,"'`) {
		return text
	}
	text = quoted.ReplaceAll(text, []byte("$1"))
	return grouped.ReplaceAllFunc(text, func(found []byte) []byte { return bytes.ReplaceAll(found, []byte{','}, nil) })
}
