package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// The goals of a page over records.
const (
	serveShare   = 0.02        // of a core, with one client that follows a run
	firstPicture = time.Second // for the first page
	listed       = 1000        // runs
)

// serveCost shows the processor time of the server while a client follows a run, and the duration of pages. The run,
// the server and the client are separate processes.
func serveCost(ctx context.Context, w io.Writer, c config) error {
	dir, err := scratchIn("")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "plimsoll")
	if err := buildPlimsoll(ctx, program); err != nil {
		return err
	}
	records := filepath.Join(dir, "records")
	load := exec.CommandContext(ctx, program, "run", "null:", "-q", "--workload", "a", "--rate", "1000",
		"--duration", "1h", "--out", filepath.Join(records, "r"))
	if err := load.Start(); err != nil {
		return fmt.Errorf("start a run: %w", err)
	}
	defer func() { _ = load.Process.Kill(); _ = load.Wait() }()
	if err := awaitIntervals(ctx, filepath.Join(records, "r")); err != nil {
		return err
	}
	s, err := startServe(ctx, program, records)
	if err != nil {
		return err
	}
	defer s.end()
	fmt.Fprintf(w, "\nPages over records (plimsoll serve)\n")
	live, err := s.live()
	if err != nil {
		return err
	}
	first, err := s.took(live)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "  first page of a running run            %8.1f ms  %s\n", ms(first), verdict(first < firstPicture))
	start, err := processorTime(s.cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := s.follow(ctx, live+"/events", time.Duration(c.seconds)*time.Second); err != nil {
		return err
	}
	share := (s.end() - start).Seconds() / float64(c.seconds)
	fmt.Fprintf(w, "  following it for %2d s                  %8.2f %% of a core  %s   (after %v for the start and two pages)\n",
		c.seconds, share*100, verdict(share < serveShare), start)
	return listCost(ctx, w, program, records, filepath.Join(dir, "many"))
}

// listCost shows the duration of the first and of a later list of many records.
func listCost(ctx context.Context, w io.Writer, program, from, dir string) error {
	head, err := os.ReadFile(filepath.Join(from, "r", record.RunFile))
	if err != nil {
		return err
	}
	for i := range listed {
		one := filepath.Join(dir, fmt.Sprintf("r%04d", i))
		if err := os.MkdirAll(one, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(one, record.RunFile), head, 0o644); err != nil {
			return err
		}
	}
	s, err := startServe(ctx, program, dir)
	if err != nil {
		return err
	}
	defer s.end()
	for _, what := range []string{"first", "again"} {
		took, err := s.took("/")
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  list of %d runs, %s                  %8.1f ms  %s\n", listed, what, ms(took), verdict(took < firstPicture))
	}
	return nil
}

// awaitIntervals waits until a run has recorded three intervals.
func awaitIntervals(ctx context.Context, dir string) error {
	deadline := time.Now().Add(time.Minute)
	for ; time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		n := 0
		if _, err := record.EachLine(dir, func(*record.IntervalLine) error { n++; return nil }); err == nil && n > 2 {
			return nil
		}
	}
	return errors.Join(errors.New("the run recorded no intervals within a minute"), ctx.Err())
}

// server is a process of plimsoll serve.
type server struct {
	cmd  *exec.Cmd
	base string
	used time.Duration
}

var printedAddress = regexp.MustCompile(`http://[^/]+`)

func startServe(ctx context.Context, program, dir string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, program, "serve", dir)}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start plimsoll serve: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if s.base = printedAddress.FindString(line); err != nil || s.base == "" {
		s.end()
		return nil, fmt.Errorf("plimsoll serve printed %q and no address (%v)", line, err)
	}
	return s, nil
}

// end ends the server and returns its processor time.
func (s *server) end() time.Duration {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Signal(os.Interrupt)
		_ = s.cmd.Wait() // its exit code does not matter
		s.used = s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
	}
	return s.used
}

// live finds the page of the running run.
func (s *server) live() (string, error) {
	body, err := s.get("/")
	if err != nil {
		return "", err
	}
	path := regexp.MustCompile(`/live/[\w-]+`).FindString(body)
	if path == "" {
		return "", errors.New("the list does not show the running run")
	}
	return path, nil
}

func (s *server) took(path string) (time.Duration, error) {
	begin := time.Now()
	_, err := s.get(path)
	return time.Since(begin), err
}

func (s *server) get(path string) (string, error) {
	resp, err := http.Get(s.base + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, resp.Status)
	}
	return string(b), err
}

// follow reads the stream of events for a time.
func (s *server) follow(ctx context.Context, path string, length time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	pictures := 0
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "event: picture") {
			pictures++
		}
	}
	if pictures == 0 || ctx.Err() == nil {
		return fmt.Errorf("the stream ended early, with %d pictures", pictures)
	}
	return nil
}
