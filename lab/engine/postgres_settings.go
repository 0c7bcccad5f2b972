package engine

import (
	"fmt"
	"slices"
	"strings"
)

// ownSettings are set by the cluster: another value would make members unreachable or change a durability level.
var ownSettings = []string{
	"archive_cleanup_command", "cluster_name", "config_file", "data_directory", "default_transaction_read_only",
	"external_pid_file", "hba_file", "ident_file", "listen_addresses", "port", "primary_conninfo", "primary_slot_name",
	"restore_command", "shared_preload_libraries", "synchronous_commit", "synchronous_standby_names",
	"unix_socket_directories", "wal_level",
}

// CheckPostgresParameters refuses invalid parameters and those that the cluster sets.
func CheckPostgresParameters(parameters map[string]string) error {
	for name, value := range parameters {
		if err := checkSettingName(name); err != nil {
			return err
		}
		if slices.Contains(ownSettings, strings.ToLower(name)) {
			return fmt.Errorf("%s is set by the lab; leave it out", name)
		}
		if strings.ContainsAny(value, "\n\r\x00") {
			return fmt.Errorf("the value of %s has a line feed or a null byte", name)
		}
	}
	return nil
}

func checkSettingName(name string) error {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != "" || name == "" {
		return fmt.Errorf("%q is not the name of a PostgreSQL setting", name)
	}
	return nil
}
