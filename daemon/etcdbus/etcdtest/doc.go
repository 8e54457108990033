// Package etcdtest runs a real etcd inside a test, which can be stopped and started again.
package etcdtest
