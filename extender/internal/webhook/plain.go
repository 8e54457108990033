package webhook

// A word is eight characters of a text, looked at all at once. ones has 1 in each of them, tops the highest bit.
const (
	ones = 0x0101010101010101
	tops = 0x80 * ones
)

// plain tells whether a text is the same in JSON: printable ASCII without quotes and backslashes. Names and reasons are,
// and there are thousands of them in every question and answer.
func plain[Text string | []byte](s Text) bool {
	if len(s) < 8 {
		for i := range len(s) {
			if odd(ones*' ' ^ ' ' | uint64(s[i])) {
				return false
			}
		}
		return true
	}
	for at := 0; at+8 < len(s); at += 8 {
		if odd(word(s[at:])) {
			return false
		}
	}
	return !odd(word(s[len(s)-8:])) // some of it for the second time
}

func word[Text string | []byte](s Text) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// odd tells whether a character of a word is no plain one. What is below a space has its highest bit set once a space is
// taken off, and what is a quote or a backslash once that is made 0 and a 1 taken off. A borrow comes from such a
// character alone.
func odd(w uint64) bool {
	return (w|(w-ones*' ')|((w^ones*'"')-ones)|((w^ones*'\\')-ones)|((w^ones*0x7f)-ones))&tops != 0
}
