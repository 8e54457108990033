package lines

import (
	"bytes"
	"regexp"
)

const evaluationWord = `(?:val|valid|validat(?:e|ion|ing)|eval|evaluat(?:e|ion|ing)|test|testing|dev)`

// maxKindBytes bounds the text before a value that is searched for words of an evaluation.
const maxKindBytes = 512

var (
	// evaluationKey matches the text before a value whose name says that it is one of an evaluation, as in "val_loss=",
	// "eval/loss: " and "test set: average loss ".
	evaluationKey = regexp.MustCompile(`(?i)(?:^|[^a-z])` + evaluationWord + `(?:[_./ -]\w+){0,3}["']?\s*[:=]?\s*["']?(?:\w+\()?$`)
	// evaluationStart matches a record about an evaluation, as in "Validation DataLoader 0: ".
	evaluationStart = regexp.MustCompile(`(?i)^[^\w]*` + evaluationWord + `\b`)
	// label matches a word that says which phase the text after it is about, as in "[eval]" and "train: ".
	label = regexp.MustCompile(`(?i)\b(?:(train\w*)|` + evaluationWord + `)(?:[ _]?set)?\s*[:|\]]`)
	// evaluated matches a name or an expression that asks for the metric of an evaluation.
	evaluated = regexp.MustCompile(`(?i)(?:^|[^a-z])` + evaluationWord + `(?:[^a-z]|$)`)
)

// evaluation reports whether a value is one of a validation or test, by the text before it.
func evaluation(before []byte) bool {
	if len(before) > maxKindBytes {
		before = before[len(before)-maxKindBytes:]
	} else if evaluationStart.Match(before) {
		return true
	}
	if evaluationKey.Match(before[max(0, len(before)-maxNumber):]) {
		return true
	}
	labels := label.FindAllSubmatchIndex(before, -1)
	return len(labels) > 0 && labels[len(labels)-1][2] < 0
}

// inWord reports whether at is inside a word such as val_loss or train/loss.
func inWord(text []byte, at int) bool {
	return at > 0 && at < len(text) && isWord(text[at]) && (isWord(text[at-1]) || bytes.IndexByte([]byte("./-"), text[at-1]) >= 0)
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
