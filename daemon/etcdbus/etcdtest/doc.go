// Package etcdtest runs a real etcd in the process of a test. The test can stop it and start it again.
package etcdtest
