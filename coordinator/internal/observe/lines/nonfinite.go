package lines

import (
	"bytes"
	"math"
	"regexp"
)

// word matches NaN and infinity as programs print them.
var word = regexp.MustCompile(`(?i)(?:^|[^\w.])([-+]?(?:nan|inf(?:inity)?))\b`)

// maxWords bounds the words that are replaced in one record.
const maxWords = 64

// numerals are what NaN and infinity are replaced by, in the order in which an expression is tried with them: most
// expressions match only digits, and some of them only so many.
var numerals = []string{"1.1111", "1", "1.11", "1.111", "1.1e+01"}

// replaced is a record in which numerals replace NaN and infinity.
type replaced struct {
	text  []byte
	words []replacement
}

// replacement is one numeral, by its position in the replaced text.
type replacement struct {
	start, end int
	value      float64
}

// nonFinite returns the positions of NaN and infinity in a record.
func nonFinite(text []byte) [][]int {
	for i := range max(0, len(text)-2) { // almost no record has such a word
		switch string([]byte{text[i] | 0x20, text[i+1] | 0x20, text[i+2] | 0x20}) {
		case "nan", "inf":
			return word.FindAllSubmatchIndex(text, maxWords)
		}
	}
	return nil
}

// replace replaces the words at these positions by numeral.
func replace(text []byte, words [][]int, numeral string) replaced {
	var r replaced
	from := 0
	for _, at := range words {
		r.text = append(r.text, text[from:at[2]]...)
		start := len(r.text)
		r.text = append(r.text, numeral...)
		r.words = append(r.words, replacement{start, len(r.text), meaning(text[at[2]:at[3]])})
		from = at[3]
	}
	r.text = append(r.text, text[from:]...)
	return r
}

// value returns the value of the word whose numeral includes start.
func (r replaced) value(start int) (value float64, end int, ok bool) {
	for _, w := range r.words {
		if start >= w.start && start < w.end {
			return w.value, w.end, true
		}
	}
	return 0, 0, false
}

func meaning(word []byte) float64 {
	switch {
	case bytes.ContainsAny(word, "aA"):
		return math.NaN()
	case word[0] == '-':
		return math.Inf(-1)
	}
	return math.Inf(1)
}
