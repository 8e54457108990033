package gpushare_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestIsURL(t *testing.T) {
	for checkpoint, is := range map[string]bool{
		"s3://bucket/job.pt":                        true,
		"gs://bucket/a b/job.pt":                    true,
		"S3://bucket/job.pt":                        true,
		"abfs+x.1://container@account/job.pt":       true,
		"https://storage.example.com/job.pt?part=1": true,
		"file:///checkpoints/job.pt":                false,
		"File:///checkpoints/job.pt":                false,
		"filesystem://host/job.pt":                  true,
		"/checkpoints/job.pt":                       false,
		"/checkpoints/s3://bucket/job.pt":           false,
		"s3:/bucket/job.pt":                         false,
		"s3://":                                     false,
		"s3://bucket/\njob.pt":                      false,
		"3s://bucket":                               false,
		"":                                          false,
	} {
		t.Run(checkpoint, func(t *testing.T) { require.Equal(t, is, gpushare.IsURL(checkpoint)) })
	}
}
