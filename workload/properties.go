package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxPropertyFile is how much of a property file is read at most.
const maxPropertyFile = 1 << 20

// ReadProperties reads a Java .properties file, the format of YCSB's -P files, with the rules of
// java.util.Properties: '=', ':' or blanks between key and value, '#' and '!' for comments, a backslash
// at the end of a line to continue it, the escapes \t \n \r \f and \uXXXX, and blanks at the end of a
// value kept. Nothing like ${…} is expanded. Bytes that are not UTF-8 are read as Latin-1, as Java
// before version 9 does.
//
// It returns the properties and the order in which their keys first appear; a key given twice has its
// last value. Errors name the line.
func ReadProperties(r io.Reader) (props map[string]string, order []string, err error) {
	props = map[string]string{}
	in := &lineReader{in: bufio.NewReader(io.LimitReader(r, maxPropertyFile+1))}
	for {
		line, err := in.logicalLine()
		if errors.Is(err, io.EOF) {
			return props, order, nil
		}
		if err != nil {
			return nil, nil, err
		}
		rawKey, rawValue := splitProperty(line)
		key, err := unescapeProperty(rawKey)
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", in.first, err)
		}
		value, err := unescapeProperty(rawValue)
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: value of %q: %w", in.first, key, err)
		}
		if _, again := props[key]; !again {
			order = append(order, key)
		}
		props[key] = value
	}
}

// lineReader joins the lines of a property file into logical ones.
type lineReader struct {
	in    *bufio.Reader
	line  int // number of the line read last
	first int // number of the first line of the logical line read last
	size  int
}

const propertyBlanks = " \t\f"

// logicalLine returns the next line that is neither blank nor a comment, with its continuations joined
// and the blanks at the start of each removed.
func (r *lineReader) logicalLine() (string, error) {
	var whole strings.Builder
	continued := false
	for {
		text, err := r.naturalLine()
		if errors.Is(err, io.EOF) && continued {
			return whole.String(), nil
		}
		if err != nil {
			return "", err
		}
		text = strings.TrimLeft(text, propertyBlanks)
		if !continued {
			if text == "" || text[0] == '#' || text[0] == '!' {
				continue
			}
			r.first = r.line
		}
		body, more := cutContinuation(text)
		whole.WriteString(body)
		if !more {
			return whole.String(), nil
		}
		continued = whole.Len() > 0 // a backslash alone begins nothing
	}
}

// naturalLine returns the next line without its end, which may be \n, \r or \r\n.
func (r *lineReader) naturalLine() (string, error) {
	var line []byte
	for {
		c, err := r.in.ReadByte()
		if errors.Is(err, io.EOF) && len(line) > 0 {
			break
		}
		if err != nil {
			return "", err
		}
		if r.size++; r.size > maxPropertyFile {
			return "", fmt.Errorf("line %d: the file is longer than %d bytes, which no property file is", r.line+1, maxPropertyFile)
		}
		if c == '\n' {
			break
		}
		if c == '\r' {
			r.skipLineFeed()
			break
		}
		line = append(line, c)
	}
	r.line++
	return decodeProperty(line), nil
}

func (r *lineReader) skipLineFeed() {
	if next, err := r.in.Peek(1); err == nil && next[0] == '\n' {
		_, _ = r.in.ReadByte() // cannot fail after Peek
	}
}

// decodeProperty returns the text of a line.
func decodeProperty(line []byte) string {
	if utf8.Valid(line) {
		return string(line)
	}
	latin := make([]rune, len(line))
	for i, c := range line {
		latin[i] = rune(c)
	}
	return string(latin)
}

// cutContinuation removes the backslash that continues a line: one that is not escaped itself.
func cutContinuation(line string) (string, bool) {
	slashes := len(line) - len(strings.TrimRight(line, `\`))
	if slashes%2 == 0 {
		return line, false
	}
	return line[:len(line)-1], true
}

// splitProperty cuts a logical line at the first separator that is not escaped: '=' or ':' with blanks
// around it, or blanks alone.
func splitProperty(line string) (key, value string) {
	end := 0
	for end < len(line) && !strings.ContainsRune("=:"+propertyBlanks, rune(line[end])) {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	key, value = line[:end], strings.TrimLeft(line[end:], propertyBlanks)
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], propertyBlanks)
	}
	return key, value
}

// unescapeProperty resolves backslash escapes. A backslash before any other character is dropped.
func unescapeProperty(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var units []uint16
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			c, size := utf8.DecodeRuneInString(s[i:])
			units = utf16.AppendRune(units, c)
			i += size
			continue
		}
		c, size, err := unescapeOne(s[i+1:])
		if err != nil {
			return "", err
		}
		units = append(units, c...)
		i += 1 + size
	}
	return string(utf16.Decode(units)), nil
}

// unescapeOne returns what follows a backslash as UTF-16 and how many bytes it took. \u escapes are
// UTF-16 units, two of which may make one character.
func unescapeOne(s string) (units []uint16, size int, err error) {
	if s == "" {
		return nil, 0, nil
	}
	switch s[0] {
	case 't':
		return []uint16{'\t'}, 1, nil
	case 'n':
		return []uint16{'\n'}, 1, nil
	case 'r':
		return []uint16{'\r'}, 1, nil
	case 'f':
		return []uint16{'\f'}, 1, nil
	case 'u':
		if len(s) < 5 {
			return nil, 0, fmt.Errorf(`\%s is not an escape: \u needs four hexadecimal digits`, s)
		}
		n, err := strconv.ParseUint(s[1:5], 16, 16)
		if err != nil {
			return nil, 0, fmt.Errorf(`\%s is not an escape: \u needs four hexadecimal digits`, s[:5])
		}
		return []uint16{uint16(n)}, 5, nil
	}
	c, size := utf8.DecodeRuneInString(s)
	return utf16.AppendRune(nil, c), size, nil
}
