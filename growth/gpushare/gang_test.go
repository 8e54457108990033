package gpushare_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestParse_Gang(t *testing.T) {
	parse := func(value string) (gpushare.Gang, error) {
		s, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1", gpushare.GangAnnotation: value})
		return s.Gang, err
	}
	for value, want := range map[string]gpushare.Gang{
		"bert/4": {Name: "bert", Size: 4}, " a-b.c/1024 ": {Name: "a-b.c", Size: 1024}, "none": {Apart: true}, "": {},
	} {
		g, err := parse(value)
		require.NoError(t, err, value)
		require.Equal(t, want, g, value)
	}
	for _, value := range []string{"bert", "bert/0", "bert/1025", "/4", "bert/", "Bert/4", "bert-/4", "bert/4/4", "bert/04", "4"} {
		_, err := parse(value)
		require.EqualError(t, err, "annotation gpushare/gang: \""+value+
			"\" is not the name of a job and the number of its pods up to 1024, such as \"bert/4\", and not \"none\"")
	}
}
