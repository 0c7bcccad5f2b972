package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Page is one tab.
type Page struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	requests []string
	problems []string
}

// watch turns on the events of [Page.listen].
func (p *Page) watch(ctx context.Context, t *chromedp.Target) error {
	if _, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{}); err != nil {
		return err
	}
	if _, err := cdp.Call(ctx, t, runtime.Enable, cdp.Empty{}); err != nil {
		return err
	}
	_, err := cdp.Call(ctx, t, cdplog.Enable, cdp.Empty{})
	return err
}

// command makes an action of a command of the browser's protocol.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

func (p *Page) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *network.EventWebSocketCreated:
		p.requests = append(p.requests, e.URL)
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, "exception: "+exceptionText(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			p.problems = append(p.problems, fmt.Sprintf("console.%s: %s", e.Type, consoleText(e.Args)))
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError || e.Entry.Level == cdplog.EntryLevelWarning {
			p.problems = append(p.problems, string(e.Entry.Source)+": "+e.Entry.Text)
		}
	}
}

func exceptionText(d *runtime.ExceptionDetails) string {
	if d.Exception != nil {
		return d.Text + " " + d.Exception.Description
	}
	return d.Text
}

func consoleText(args []*runtime.RemoteObject) string {
	var words []string
	for _, a := range args {
		words = append(words, string(a.Value)+a.Description)
	}
	return strings.Join(words, " ")
}

// Requests returns the addresses of all requests of the tab, including that of the page.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Problems returns the exceptions, the errors and warnings of the console, and the violations of the content policy.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.problems)
}

// do runs actions and fails the test if they do not succeed in time.
func (p *Page) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Limit)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("%s: %v\nproblems of the page: %q", what, err, p.Problems())
	}
}

// Open opens an address and waits until the page is loaded.
func (p *Page) Open(url string) {
	p.t.Helper()
	p.do("open "+url, chromedp.Navigate(url))
}

func (p *Page) Reload() {
	p.t.Helper()
	p.do("reload", chromedp.Reload())
}

// Eval evaluates an expression in the page, waits for it if it is a promise, and stores its value; into may be nil.
func (p *Page) Eval(expression string, into any) {
	p.t.Helper()
	raw := get(p, "evaluate "+short(expression), chromedp.Evaluate[[]byte](expression, chromedp.EvalAwaitPromise))
	if into == nil {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		p.t.Fatalf("the value of %s is %s: %v", short(expression), short(string(raw)), err)
	}
}

// get runs an action and returns its value.
func get[T any](p *Page, what string, action chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Limit)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		p.t.Fatalf("%s: %v\nproblems of the page: %q", what, err, p.Problems())
	}
	return v
}

// Text returns the value of an expression as text.
func (p *Page) Text(expression string) (text string) {
	p.t.Helper()
	p.Eval("String("+expression+")", &text)
	return text
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Limit)
	defer cancel()
	for {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && is {
			return
		}
		select {
		case <-ctx.Done():
			p.t.Fatalf("%s did not become true (last: %v)\nproblems of the page: %q", short(expression), err, p.Problems())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Size sets the size of the window in CSS pixels, and whether it is a phone.
func (p *Page) Size(width, height int64, phone bool) {
	p.t.Helper()
	p.do("set the size", command(emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: phone}))
}

// Media sets the medium ("screen", "print") and the preferred colours ("light", "dark").
func (p *Page) Media(medium, colours string) {
	p.t.Helper()
	p.do("set the medium", command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}},
	}))
}

// NoScript turns scripts of the page off or on, from the next load.
func (p *Page) NoScript(off bool) {
	p.t.Helper()
	p.do("turn scripts off", command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: off}))
}

// Click clicks on the first element of a selector.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.do("click on "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// Keys sends keys to the focused element.
func (p *Page) Keys(keys string) {
	p.t.Helper()
	p.do("press keys", chromedp.KeyEvent(keys))
}

// Drag presses the left button at one place of an element and releases it at another one. from and to are shares of the
// width, at half the height.
func (p *Page) Drag(selector string, from, to float64) {
	p.t.Helper()
	var box struct{ X, Y, W, H float64 }
	p.Eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"});
		const r = e.getBoundingClientRect(); return {X: r.x, Y: r.y, W: r.width, H: r.height}; })()`, selector), &box)
	y := box.Y + box.H/2
	at := func(share float64) float64 { return box.X + share*box.W }
	mouse := func(kind input.DispatchMouseEventType, x float64, buttons int64) chromedp.Action[chromedp.Void] {
		return command(input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: kind, X: x, Y: y, Button: input.MouseButtonLeft, Buttons: buttons, ClickCount: 1,
		})
	}
	p.do("drag in "+selector,
		mouse(input.DispatchMouseEventTypeMouseMoved, at(from), 0),
		mouse(input.DispatchMouseEventTypeMousePressed, at(from), 1),
		mouse(input.DispatchMouseEventTypeMouseMoved, at((from+to)/2), 1),
		mouse(input.DispatchMouseEventTypeMouseMoved, at(to), 1),
		mouse(input.DispatchMouseEventTypeMouseReleased, at(to), 0))
}

// Screenshot writes a picture of the whole page to a PNG file.
func (p *Page) Screenshot(path string) {
	p.t.Helper()
	p.write(path, get(p, "take a picture", chromedp.FullScreenshot(100)))
}

// Picture returns the whole page as PNG, with so many pixels for one of CSS.
func (p *Page) Picture(width int64, scale float64) []byte {
	p.t.Helper()
	size := func(height int64) {
		p.do("set the size", command(emulation.SetDeviceMetricsOverride,
			emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: scale}))
	}
	size(600)
	var height int64
	p.Eval(`Math.ceil(document.documentElement.getBoundingClientRect().height)`, &height)
	size(height)
	return get(p, "take a picture", chromedp.CaptureScreenshot())
}

// PDF prints the page into a file.
func (p *Page) PDF(path string) {
	p.t.Helper()
	yes := true
	print := func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		r, err := cdp.Call(ctx, t, page.PrintToPDF, page.PrintToPDFParams{PrintBackground: &yes, PreferCSSPageSize: &yes})
		if err != nil {
			return nil, err
		}
		return r.Data, nil
	}
	p.write(path, get(p, "print", chromedp.Action[[]byte](print)))
}

func (p *Page) write(path string, content []byte) {
	p.t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func short(text string) string {
	if r := []rune(text); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return text
}
