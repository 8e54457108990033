package shim

import _ "embed"

// FileName is the name under which the device plugin mounts the file: the
// module that a job imports.
const FileName = "gpushare.py"

//go:embed gpushare.py
var source string

// Source returns the text of the file, in a slice of the caller's own.
func Source() []byte { return []byte(source) }
