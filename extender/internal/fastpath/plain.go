package fastpath

// A word is eight characters of a text, tested at once. ones has 1 in each character, tops has the highest bit.
const (
	ones = 0x0101010101010101
	tops = 0x80 * ones
)

// plain reports whether JSON encodes a text as it is: printable ASCII without quotes and backslashes. Each request and
// each answer has thousands of such names and reasons.
func plain[Text string | []byte](s Text) bool {
	if len(s) < 8 {
		for i := range len(s) {
			if special(ones*' ' ^ ' ' | uint64(s[i])) {
				return false
			}
		}
		return true
	}
	for at := 0; at+8 < len(s); at += 8 {
		if special(word(s[at:])) {
			return false
		}
	}
	return !special(word(s[len(s)-8:])) // overlaps the word before
}

func word[Text string | []byte](s Text) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// special reports whether a word has a character that is not plain. A character below a space gets its highest bit from
// the subtraction of a space. A quote, a backslash or DEL becomes 0 by XOR, and gets that bit from the subtraction of 1.
// Only such a character causes a borrow.
func special(w uint64) bool {
	return (w|(w-ones*' ')|((w^ones*'"')-ones)|((w^ones*'\\')-ones)|((w^ones*0x7f)-ones))&tops != 0
}
