package gpushare

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/trellis-gpu/trellis/growth/elastic"
)

var elasticPattern = regexp.MustCompile(`^([1-9][0-9]?)-([1-9][0-9]?)$`)

func parseElastic(value string, s *Spec) error {
	if value == "" {
		return nil
	}
	var r elastic.Range
	if m := elasticPattern.FindStringSubmatch(value); m != nil {
		r.Low, _ = strconv.Atoi(m[1])
		r.High, _ = strconv.Atoi(m[2])
	}
	if !r.Valid() {
		return fmt.Errorf("is not a range of workers within 1-%d, such as \"1-4\"", elastic.MaxWorkers)
	}
	s.Elastic = r
	return nil
}
