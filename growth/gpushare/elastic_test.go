package gpushare_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestParse_Elastic(t *testing.T) {
	parse := func(value string) (elastic.Range, error) {
		s, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1", gpushare.ElasticAnnotation: value})
		return s.Elastic, err
	}
	for value, want := range map[string]elastic.Range{
		"1-4": {Low: 1, High: 4}, "2-2": {Low: 2, High: 2}, " 8-64 ": {Low: 8, High: 64}, "": {},
	} {
		r, err := parse(value)
		require.NoError(t, err, value)
		require.Equal(t, want, r, value)
	}
	for _, value := range []string{"4", "4-1", "0-4", "1-65", "1 - 4", "one-four", "1-4-8", "-1-4", "01-4"} {
		_, err := parse(value)
		require.EqualError(t, err, "annotation gpushare/elastic: \""+value+"\" is not a range of workers within 1-64, such as \"1-4\"")
	}
}
