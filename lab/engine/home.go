package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// DefaultHome returns the default directory of engines and labs: PLIMSOLL_HOME, or plimsoll in the user's data
// directory (XDG). getenv reads the environment.
func DefaultHome(getenv func(string) string) (string, error) {
	if dir := getenv("PLIMSOLL_HOME"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "plimsoll"), nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", errors.New("cannot find a directory for engines, because HOME is not set: set PLIMSOLL_HOME to a directory")
	}
	return filepath.Join(home, ".local", "share", "plimsoll"), nil
}

// layout has the paths of a home directory:
//
//	engines/documentdb/            the installed engine, complete or absent
//	engines/mongod/VERSION/
//	engines/.installing-NAME-…/    an unfinished installation
//	engines/.NAME.lock             held during an installation of NAME
//	engines/NAME-install.log       output of the last installation
type layout struct {
	dir string
}

func (l layout) engines() string           { return filepath.Join(l.dir, "engines") }
func (l layout) engine(name string) string { return filepath.Join(l.engines(), name) }
func (l layout) installing() string        { return filepath.Join(l.engines(), installingPrefix) }
func (l layout) lock(name string) string   { return filepath.Join(l.engines(), "."+name+".lock") }
func (l layout) log(name string) string    { return filepath.Join(l.engines(), name+"-install.log") }
func installationFile(dir string) string   { return filepath.Join(dir, "installation.json") }
func (l layout) check() error {
	if !filepath.IsAbs(l.dir) {
		return fmt.Errorf("the directory of the engines must be an absolute path, not %q; see PLIMSOLL_HOME", l.dir)
	}
	return nil
}

const installingPrefix = ".installing-"

func readInstallation(dir string) (Installation, error) {
	var inst Installation
	err := readJSON(installationFile(dir), &inst)
	return inst, err
}

func readJSON(name string, v any) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
