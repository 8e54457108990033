module github.com/trellis-gpu/trellis/scripts/docs

go 1.26.0
