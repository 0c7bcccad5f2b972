package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// Forms of an address that keep it, with its password, out of the list of processes.
const (
	fromVariable = "env:" // env:NAME, an environment variable
	fromFile     = "@"    // @FILE, or @- for standard input
)

const addressHelp = `

Other users of this machine can read command lines. To hide an address with a password, write env:NAME (an
environment variable), @FILE (the line in a file) or @- (a line of standard input). If plimsoll starts other
processes, the address is not on their command lines either.`

const maxAddressFile = 64 << 10

// addressOf reads the address that a word stands for: env:NAME, @FILE, @-, or the word itself. It hides what it reads
// in all errors, and removes the variable from the environment of other processes. Its own errors never repeat what was
// read.
func addressOf(env *environment, word string) (string, error) {
	text, from := "", word
	if name, ok := strings.CutPrefix(word, fromVariable); ok {
		if text = strings.TrimSpace(env.getenv(name)); text == "" {
			return "", usageError("%s: the environment variable %q is not set or empty", word, name)
		}
		if env.unsetenv != nil {
			if err := env.unsetenv(name); err != nil {
				return "", err
			}
		}
	} else if name, ok := strings.CutPrefix(word, fromFile); ok {
		b, err := readAddress(env, name)
		if err != nil {
			return "", usageError("%s: cannot read the address: %w", word, err)
		}
		if text = strings.TrimSpace(string(b)); text == "" {
			return "", usageError("%s: the input has no address", word)
		}
	} else {
		return word, nil
	}
	env.secrets.Learn(text)
	if name, ok := strings.CutPrefix(word, fromFile); ok && name != "-" && redact.InText(text) != text {
		if err := safeopen.CheckSecret(name); err != nil {
			return "", usageError("%s has a password, and %v", from, err)
		}
	}
	if strings.ContainsAny(text, "\r\n") || len(text) > maxAddressFile || redact.AddressIn(text) != 0 {
		return "", usageError("%s is not an address of MongoDB: it must be one line and begin with mongodb:// or mongodb+srv://", from)
	}
	return text, nil
}

func readAddress(env *environment, name string) ([]byte, error) {
	in, err := openFile(env, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, maxAddressFile+1))
}

// openFile opens a file, or standard input for the name "-".
func openFile(env *environment, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(env.stdin), nil
	}
	// Files are read before a command catches signals, so a signal ends the wait for a pipe.
	return safeopen.OpenInput(context.Background(), name, safeopen.MaxDocument)
}

// readSpec reads a file (see [openFile]). what is its kind in errors. hint says what to do if the file does not exist.
func readSpec[T any](env *environment, name, what, hint string, read func(io.Reader) (T, error)) (T, error) {
	var none T
	in, err := openFile(env, name)
	if !errors.Is(err, fs.ErrNotExist) {
		hint = ""
	}
	if err != nil {
		return none, withHint(exitUsage, fmt.Errorf("cannot read the %s: %w", what, err), hint)
	}
	defer in.Close()
	asked, err := read(in)
	if err != nil {
		return none, usageError("%s: %w", name, err)
	}
	return asked, nil
}

// labHint is the hint for a missing file whose name may be that of a lab.
func labHint(format, name string) string {
	if strings.ContainsAny(name, "./") {
		return ""
	}
	return fmt.Sprintf(format, name)
}

// notRead stands for an address in a file that the command may not read.
const notRead = "mongodb://not-read-by-a-plan/"

// readTarget replaces the target of a specification by the one on the command line, if there is one, and then by the
// address that it stands for. A command that only plans does not open a file that a specification names.
func readTarget(ctx context.Context, env *environment, target *string, given string) error {
	if given != "" {
		*target = given
	} else if strings.HasPrefix(*target, fromFile) && !permit.Has(ctx, permit.Read) {
		*target = notRead
	}
	return readAddresses(env, target)
}

// readAddresses replaces words by the addresses that they stand for.
func readAddresses(env *environment, words ...*string) error {
	for _, w := range words {
		address, err := addressOf(env, *w)
		if err != nil {
			return err
		}
		*w = address
	}
	return nil
}
