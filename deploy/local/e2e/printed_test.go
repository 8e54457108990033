//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var printedBlock = regexp.MustCompile("(?s)<!-- tested: ([a-z-]+) -->\n```(?:sh|yaml)\n(.*?)```")

// printedBlocks returns the blocks of a page of docs that are marked as tested.
func printedBlocks(t *testing.T, page string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "docs", page))
	require.NoError(t, err)
	blocks := map[string]string{}
	for _, match := range printedBlock.FindAllStringSubmatch(string(text), -1) {
		blocks[match[1]] = match[2]
	}
	return blocks
}
