package fastpath

// plain reports whether JSON encodes a text as it is: printable ASCII without quotes and backslashes. Each request and
// each answer has thousands of such names and reasons.
func plain[Text string | []byte](s Text) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
