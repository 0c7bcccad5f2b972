package safeopen

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is the memory that a zstd decoder may take for what it has read, in bytes.
const maxWindow = 256 << 20

// otherFormats are the first bytes of formats that are not read, with a command that does.
var otherFormats = []struct{ magic, name, command string }{
	{"BZh", "bzip2", "bzip2 -dc"}, {"\xfd7zXZ", "xz", "xz -dc"}, {"PK\x03\x04", "zip", "unzip -p"},
	{"\x04\x22\x4d\x18", "lz4", "lz4 -dc"},
}

// Decompressed reads r, whose content can be compressed by gzip or zstd: its first bytes say that. The result is
// bounded as by [Expansion]. One goroutine must read it and r.
func Decompressed(r io.Reader) (io.ReadCloser, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	begin, err := in.Peek(6)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var e Expansion
	switch {
	case bytes.HasPrefix(begin, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(e.Packed(in))
		if err != nil {
			return nil, err
		}
		return &decompressed{e.Unpacked(z), func() { _ = z.Close() }}, nil
	case bytes.HasPrefix(begin, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(e.Packed(in), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxWindow))
		if err != nil {
			return nil, err
		}
		return &decompressed{e.Unpacked(z), z.Close}, nil
	}
	for _, f := range otherFormats {
		if bytes.HasPrefix(begin, []byte(f.magic)) {
			return nil, fmt.Errorf("it is compressed by %s. Decompress it: %s FILE | plimsoll …, with - in place of the file",
				f.name, f.command)
		}
	}
	return io.NopCloser(in), nil
}

type decompressed struct {
	io.Reader
	end func()
}

func (d *decompressed) Close() error {
	d.end()
	return nil
}
