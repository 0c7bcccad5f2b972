// Package browsertest controls a headless Chromium for tests of pages: it opens pages, evaluates scripts, uses mouse
// and keyboard, records requests and errors, and finds accessibility faults.
//
// A test that cannot run writes that to the log. With PLIMSOLL_REQUIRE_BROWSER=1, which CI sets, a missing Chromium is
// a failure. Every wait is a poll with a deadline of minutes, because the machine may be busy.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/internal/scratch"
)

// Limit is the deadline of every action.
const Limit = 4 * time.Minute

// Browser is one Chromium process with a separate profile.
type Browser struct {
	ctx context.Context
}

// find returns the path of Chromium, whose name depends on the system.
func find() (string, error) {
	if path := os.Getenv("PLIMSOLL_BROWSER"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no chromium on PATH (apt-get install chromium, or set PLIMSOLL_BROWSER)")
}

// Start starts Chromium, which ends with the test. If there is none, ok is false, and the test fails if it is required.
func Start(t testing.TB) (b *Browser, ok bool) {
	t.Helper()
	if notrun.Left(t, "in a browser") {
		return nil, false
	}
	b, end, err := start(t.TempDir())
	if err == nil {
		t.Cleanup(end)
	}
	return b, found(t, err)
}

func found(t testing.TB, err error) bool {
	t.Helper()
	if err != nil && os.Getenv("PLIMSOLL_REQUIRE_BROWSER") == "1" {
		t.Fatalf("PLIMSOLL_REQUIRE_BROWSER=1, but: %v", err)
	}
	if err != nil {
		notrun.Here(t, "in a browser: %v", err)
	}
	return err == nil
}

// shared is the browser of a test program.
var shared struct {
	once    sync.Once
	run     bool // set by Main
	browser *Browser
	end     func()
	err     error
}

// Main runs the tests of a package that uses [Shared], and ends its browser.
func Main(m *testing.M) (code int) {
	shared.run = true
	code = m.Run()
	if shared.end != nil {
		shared.end()
	}
	return code
}

// Shared is one Chromium for all tests of a package, whose TestMain calls [Main]. Starting one takes seconds, and pages
// share no state.
func Shared(t testing.TB) (b *Browser, ok bool) {
	t.Helper()
	if notrun.Left(t, "in a browser") {
		return nil, false
	}
	if !shared.run {
		t.Fatal("call browsertest.Main in the TestMain of the package, which ends the shared browser")
	}
	shared.once.Do(func() {
		var profile string
		if profile, shared.err = scratch.Make("", "plimsoll-browser-", nil); shared.err != nil {
			return
		}
		shared.end = func() { _ = os.RemoveAll(profile) }
		b, end, err := start(profile)
		if err != nil {
			shared.err = err
			return
		}
		shared.browser = b
		shared.end = func() { end(); _ = os.RemoveAll(profile) }
	})
	return shared.browser, found(t, shared.err)
}

// start starts Chromium with a profile in a directory.
func start(profile string) (b *Browser, end func(), err error) {
	path, err := find()
	if err != nil {
		return nil, nil, err
	}
	var output strings.Builder
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.CombinedOutput(&output),
		chromedp.WSURLReadTimeout(Limit), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("disable-extensions", true),
		chromedp.Flag("disable-default-apps", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-domain-reliability", true), chromedp.Flag("disable-breakpad", true),
		chromedp.Flag("disable-features", "Translate,OptimizationHints,MediaRouter,InterestFeedContentSuggestions,SpareRendererForSitePerProcess"),
		// All tabs share a renderer, and the browser starts none in advance: most tabs live for seconds.
		chromedp.Flag("renderer-process-limit", "1"), chromedp.Flag("in-process-gpu", true),
		// Most tests use a tab behind others.
		chromedp.Flag("disable-background-timer-throttling", true), chromedp.Flag("disable-backgrounding-occluded-windows", true),
		chromedp.Flag("disable-renderer-backgrounding", true), chromedp.Flag("metrics-recording-only", true), chromedp.Flag("password-store", "basic"), chromedp.Flag("mute-audio", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("lang", "en-GB"),
	)
	ctx, cancel := chromedp.NewContext(allocator)
	end = func() {
		// A closed browser still writes to its profile for a moment. Cancel waits until the process has ended.
		_ = chromedp.Cancel(ctx)
		cancel()
		stop()
	}
	if err := chromedp.Do(ctx); err != nil {
		end()
		return nil, nil, fmt.Errorf("start %s: %w\n%s", path, err, output.String())
	}
	return &Browser{ctx: ctx}, end, nil
}

// Page opens an empty tab in a new context, which shares no cookies and no cache with others.
func (b *Browser) Page(t testing.TB) *Page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	p := &Page{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	focused := command(emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	if err := chromedp.Do(ctx, chromedp.Func(p.watch), focused); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	return p
}
