package remote

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
)

// Line is a line of development: a branch, a tag or a change request. Each has its own records.
type Line struct {
	kind, name string
}

// Branch is the line of a branch. Only records of branches are compared with.
func Branch(name string) Line { return Line{"branch", name} }

// Tag is the line of a tag.
func Tag(name string) Line { return Line{"tag", name} }

// Change is the line of a change request, which is a pull request or a merge request. Who may open one may choose the
// name of its branch, so the line has its number only.
func Change(number int) Line { return Line{"pr", strconv.Itoa(number)} }

// String returns main, tag/v1 or pr/7.
func (l Line) String() string {
	if l.kind == "branch" {
		return l.name
	}
	return l.kind + "/" + l.name
}

// IsChange reports whether the line is that of a change request.
func (l Line) IsChange() bool { return l.kind == "pr" }

// Record is the name of a record of the line. id has digits and letters, and sorts by time. Different lines have
// different names, and so have lines whose names differ in case only on file systems that ignore case.
func (l Line) Record(id string) string { return l.kind + "." + escape(l.name) + "." + id }

// has reports whether an archive is one of the line.
func (l Line) has(archive string) bool {
	rest, ok := strings.CutPrefix(archive, l.Record(""))
	return ok && ending().MatchString(rest)
}

var ending = expression.New(`^[0-9A-Za-z]+\.tar\.gz$`)

// escape writes a name with lower-case letters, digits, dashes and underscores. All other bytes are _ and two digits in
// hexadecimal notation, so [unescape] returns the name.
func escape(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// unescape returns the name that escape wrote.
func unescape(text string) (string, error) {
	var name []byte
	for i := 0; i < len(text); i++ {
		if text[i] != '_' {
			name = append(name, text[i])
			continue
		}
		if i+2 >= len(text) {
			return "", errors.New("an escape is cut off")
		}
		n, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
		if err != nil {
			return "", err
		}
		name, i = append(name, byte(n)), i+2
	}
	return string(name), nil
}

// CI returns the line of the code that a job of a CI system runs, and the branch with whose records it is compared. It
// reads the variables of GitHub and GitLab. Both are empty outside of a job. The code of a change request never has the
// line of a branch. The error is that the variables do not show whose code runs.
func CI(getenv func(string) string) (own Line, base string, err error) {
	if iid := getenv("CI_MERGE_REQUEST_IID"); iid != "" {
		own, err = numbered(iid)
		return own, getenv("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"), err
	}
	ref, event := getenv("GITHUB_REF"), getenv("GITHUB_EVENT_NAME")
	if n, ok := strings.CutPrefix(ref, "refs/pull/"); ok {
		n, _, _ = strings.Cut(n, "/")
		own, err = numbered(n)
		return own, getenv("GITHUB_BASE_REF"), err
	}
	branch, onBranch := strings.CutPrefix(ref, "refs/heads/")
	tag, onTag := strings.CutPrefix(ref, "refs/tags/")
	switch {
	case getenv("CI_COMMIT_TAG") != "":
		return Tag(getenv("CI_COMMIT_TAG")), "", nil
	case getenv("CI_COMMIT_BRANCH") != "":
		return Branch(getenv("CI_COMMIT_BRANCH")), getenv("CI_COMMIT_BRANCH"), nil
	case ref == "":
		return Line{}, "", nil
	case getenv("GITHUB_HEAD_REF") != "" || !owners[event]:
		return Line{}, getenv("GITHUB_BASE_REF"), fmt.Errorf("the event %s does not say whose code runs, because its ref is "+
			"that of another branch (%s)", event, ref)
	case onBranch:
		return Branch(branch), branch, nil
	case onTag:
		return Tag(tag), "", nil
	}
	return Line{}, "", fmt.Errorf("the ref %s is not a branch, a tag or a pull request", ref)
}

// owners are the events of GitHub whose ref is that of the code that runs. Others, such as pull_request_target and
// issue_comment, run with the ref of the default branch.
var owners = map[string]bool{"push": true, "schedule": true, "workflow_dispatch": true, "merge_group": true, "": true}

func numbered(text string) (Line, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return Line{}, fmt.Errorf("%q is not the number of a change request", text)
	}
	return Change(n), nil
}
