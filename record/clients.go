package record

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// ClientsDir holds the records of several load processes, one directory each: 00, 01, …
const ClientsDir = "clients"

// Remote reports whether the clients of a run were agents on other machines.
func (r *Run) Remote() bool {
	return slices.ContainsFunc(r.Clients, func(c ClientShare) bool { return c.Agent != "" })
}

// clientCores is how many cores the load generators may use: those of this machine, or of all machines of the agents.
func (r *Run) clientCores() (cores float64) {
	if !r.Remote() {
		return r.Environment.Cores
	}
	byMachine := map[string]float64{}
	for _, c := range r.Clients {
		if c.Machine == "" {
			cores += c.Cores
			continue
		}
		byMachine[c.Machine] = max(byMachine[c.Machine], c.Cores)
	}
	for _, n := range byMachine {
		cores += n
	}
	return cores
}

// clientFile is how files of the clients' records are called in the checksums. The files of a record that was
// completed stand behind its own checksums.
var clientFile = expression.New(`^clients/[0-9]{2,6}/[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// clientFiles lists the files below dir that the checksums of a record of several clients cover.
func clientFiles(dir string) ([]string, error) {
	clients, err := os.ReadDir(filepath.Join(dir, ClientsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range clients {
		own, err := ownFiles(dir, path.Join(ClientsDir, c.Name()))
		if err != nil {
			return nil, err
		}
		names = append(names, own...)
	}
	return names, nil
}

// ownFiles lists the checksums of one client's record or, where it was lost before it wrote them, its files.
func ownFiles(dir, client string) ([]string, error) {
	sums := path.Join(client, SumsFile)
	if safeopen.Exists(dir, sums) {
		return []string{sums}, nil
	}
	files, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(client)))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range files {
		name := path.Join(client, f.Name())
		if f.Type().IsRegular() && f.Name() != LockFile && clientFile().MatchString(name) {
			names = append(names, name)
		}
	}
	return names, nil
}
