package podlog

import "encoding/json"

// maxJSON bounds a line of Docker's json-file driver, which splits texts of more than 16 KiB. An escaped byte of the text
// has up to six bytes in the file.
const maxJSON = 128 << 10

// parseJSON parses a line in the format of Docker's json-file driver, without its newline.
func parseJSON(line []byte) (entry, error) {
	var fields struct {
		Log    *string `json:"log"`
		Stream string  `json:"stream"`
	}
	if err := json.Unmarshal(line, &fields); err != nil || fields.Log == nil {
		return entry{}, errFormat
	}
	stream, ok := streamOf(fields.Stream)
	if !ok {
		return entry{}, errFormat
	}
	// The newline is a part of the text, so a text without one continues in the next line.
	return entry{stream: stream, text: []byte(*fields.Log), partial: true}, nil
}
