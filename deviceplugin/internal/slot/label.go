package slot

import "github.com/trellis-gpu/trellis/daemon/selinux"

// share lets the slot's container use a file on a node with SELinux. An error does not fail the container, which runs
// without its socket.
func (s *Store) share(path string) {
	err := selinux.Share(s.labels, path)
	s.labelErr.Store(&err)
}

// LabelErr returns the error of the last label, nil on a node without SELinux.
func (s *Store) LabelErr() error {
	if err := s.labelErr.Load(); err != nil {
		return *err
	}
	return nil
}
