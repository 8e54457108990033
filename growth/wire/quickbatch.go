package wire

// batchField reads a field that a job reports for advice on its batch size.
func (s *scanner) batchField(name string, p *Progress) bool {
	switch name {
	case "batch":
		if p.Batch == nil {
			p.Batch = new(Batch)
		}
		return s.object(p.Batch.field)
	case "gradients":
		if p.Gradients == nil {
			p.Gradients = new(Gradients)
		}
		return s.object(p.Gradients.field)
	}
	return s.count((*int64)(&p.GPUMemory))
}

// object reads an object, whose fields are read by a function.
func (s *scanner) object(field func(s *scanner, name string) bool) bool {
	if !s.skip("{") {
		return false
	}
	for first := true; !s.skip("}"); first = false {
		if !first && !s.skip(",") {
			return false
		}
		name, ok := s.name()
		if !ok || !field(s, string(name)) {
			return false
		}
	}
	return true
}

func (b *Batch) field(s *scanner, name string) bool {
	switch name {
	case "default":
		return s.size(&b.Default)
	case "min":
		return s.size(&b.Min)
	case "max":
		return s.size(&b.Max)
	case "learning_rate":
		return s.rule(&b.LearningRate)
	}
	return false
}

func (g *Gradients) field(s *scanner, name string) bool {
	switch name {
	case "count":
		return s.count(&g.Count)
	case "small":
		return s.count(&g.Small)
	case "small_squared":
		return s.number(&g.SmallSquared)
	case "large":
		return s.count(&g.Large)
	case "large_squared":
		return s.number(&g.LargeSquared)
	}
	return false
}

func (s *scanner) size(into *int) bool {
	var n int64
	if !s.count(&n) || n > maxBatch {
		return false
	}
	*into = int(n)
	return true
}

// rule reads one of the rules that this version knows.
func (s *scanner) rule(into *string) bool {
	for _, rule := range []string{"square-root", "linear", "none"} {
		if s.skip(`"` + rule + `"`) {
			*into = rule
			return true
		}
	}
	return false
}
