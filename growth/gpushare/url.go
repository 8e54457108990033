package gpushare

import "regexp"

var (
	urlPattern  = regexp.MustCompile(`^(?i:[a-z][a-z0-9+.-]*)://[^[:cntrl:]]+$`)
	filePattern = regexp.MustCompile(`^(?i:file)://`)
)

// IsURL reports whether a checkpoint is no file but an object in a store, such as "s3://bucket/job.pt". All nodes read the same
// object. Nothing here reads it: its SHA-256 is what the job says. A URL of a file is none: a file is named by its path.
func IsURL(checkpoint string) bool {
	return urlPattern.MatchString(checkpoint) && !filePattern.MatchString(checkpoint)
}
