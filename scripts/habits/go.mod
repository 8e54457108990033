module github.com/trellis-gpu/trellis/scripts/habits

go 1.26.0
