package gpushare

import (
	"fmt"
	"regexp"
	"strconv"
)

// GangNone is the value of GangAnnotation for pods that are placed one by one.
const GangNone = "none"

// maxGang bounds the number of pods of a gang.
const maxGang = 1024

// Gang is the job of several pods that a pod belongs to: the value of GangAnnotation.
type Gang struct {
	// Name is unique in the namespace; empty if the pod's owner identifies the job. Size is the number of its pods.
	Name string
	Size int
	// Apart is set for a pod that is placed alone although it may have an owner.
	Apart bool
}

var gangPattern = regexp.MustCompile(`^([a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?)/([1-9][0-9]{0,3})$`)

// ParseGang parses the value of GangAnnotation.
func ParseGang(value string) (Gang, error) {
	if value == "" {
		return Gang{}, nil
	}
	if value == GangNone {
		return Gang{Apart: true}, nil
	}
	if m := gangPattern.FindStringSubmatch(value); m != nil {
		if size, _ := strconv.Atoi(m[2]); size <= maxGang {
			return Gang{Name: m[1], Size: size}, nil
		}
	}
	return Gang{}, fmt.Errorf("is not the name of a job and the number of its pods up to %d, such as \"bert/4\", and not %q", maxGang, GangNone)
}

func parseGang(value string, s *Spec) (err error) {
	s.Gang, err = ParseGang(value)
	return err
}
