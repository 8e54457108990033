package turns

// Tick does once what Run repeats.
func (s *Server) Tick() { s.tick() }
