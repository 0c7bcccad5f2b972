package browser

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/browsertest"
	"github.com/plimsoll-bench/plimsoll/serve"
)

var update = flag.Bool("update", false, "make the pictures of the documentation anew")

const (
	picturesIn = "../../docs/pictures"
	// sourcesFile has the checksum of what each picture was made from, as sha256sum prints it.
	sourcesFile = "SOURCES"
	// mostOfPicture bounds the bytes of a picture.
	mostOfPicture = 200 << 10
)

// TestPictures checks that the pictures of the documentation show what pages say now. They are made of real records,
// which are kept. Each has the checksum of what it was made from: pixels differ between browsers and fonts, so they are
// not compared. `make pictures` makes them anew, which needs a browser.
func TestPictures(t *testing.T) {
	sums := map[string]string{}
	if text, err := os.ReadFile(filepath.Join(picturesIn, sourcesFile)); err == nil {
		for line := range strings.Lines(string(text)) {
			sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
			sums[name] = sum
		}
	} else if !*update {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range []struct {
		name string
		page func(*testing.T) (address, content string)
	}{{"capacity.png", capacityPicture}, {"run.png", runPicture}, {"drill.png", drillPicture}, {"study.png", studyPicture}, {"serve.png", servePicture}} {
		address, content := p.page(t)
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
		lines = append(lines, sum+"  "+p.name+"\n")
		path := filepath.Join(picturesIn, p.name)
		if *update && (sums[p.name] != sum || !exists(path)) {
			takePicture(t, address, path)
		}
		if info, err := os.Stat(path); err != nil || info.Size() > mostOfPicture {
			t.Errorf("%s is missing or larger than %d bytes: %v", path, mostOfPicture, err)
		}
		if !*update && sums[p.name] != sum {
			t.Errorf("%s shows an older page: run `make pictures`", path)
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(filepath.Join(picturesIn, sourcesFile), []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// takePicture opens a page and keeps what a person sees of it.
func takePicture(t *testing.T, address, path string) {
	t.Helper()
	b, ok := browsertest.Shared(t)
	if !ok {
		t.Fatal("pictures need a browser")
	}
	p := b.Page(t)
	p.Media("screen", "light")
	p.Open(address)
	raw := p.Picture(1000, 1.5)
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var small bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&small, paletted(img)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, small.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// paletted reduces a picture to its 256 most frequent colours: pages have few, and shades of them at the edges of
// letters.
func paletted(img image.Image) *image.Paletted {
	counts := map[color.RGBA]int{}
	bounds := img.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			counts[color.RGBA{uint8(r >> 8 &^ 7), uint8(g >> 8 &^ 7), uint8(b >> 8 &^ 7), 255}]++
		}
	}
	var colours []color.RGBA
	for c := range counts {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.RGBA) int { return counts[b] - counts[a] })
	palette := color.Palette{color.White}
	for _, c := range colours[:min(len(colours), 255)] {
		palette = append(palette, c)
	}
	small := image.NewPaletted(bounds, palette)
	draw.Draw(small, bounds, img, bounds.Min, draw.Src)
	return small
}

var (
	sections = regexp.MustCompile(`(?s)<section id="([^"]*)".*?</section>`)
	figures  = regexp.MustCompile(`(?s)<figure id="([^"]*)".*?</figure>`)
	columns  = regexp.MustCompile(`(?s)<div class="columns">.*?</section>`)
	leading  = regexp.MustCompile(`(?s)<nav .*?</nav>|<footer>.*</footer>|<details.*?</details>`)
	pageMain = regexp.MustCompile(`(?s)<h1>.*</main>`)
)

// excerpt is a page with its first screen, with or without its findings and facts, and of the sections below only the
// figures whose id ends with one of these.
func excerpt(t *testing.T, dir string, facts bool, keep ...string) (address, content string) {
	t.Helper()
	path := write(t, dir)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := leading.ReplaceAllString(string(b), "")
	if !facts {
		page = columns.ReplaceAllString(page, "</section>")
	}
	page = sections.ReplaceAllStringFunc(page, func(section string) string {
		var kept []string
		for _, f := range figures.FindAllStringSubmatch(section, -1) {
			if slices.ContainsFunc(keep, func(k string) bool { return strings.HasSuffix(f[1], k) }) {
				kept = append(kept, f[0])
			}
		}
		return strings.Join(kept, "\n")
	})
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	return "file://" + path, pageMain.FindString(page)
}

func runPicture(t *testing.T) (string, string) {
	return excerpt(t, kept("run"), true, "throughput")
}

// kept is a real record, measured on a mongod.
func kept(name string) string { return filepath.Join(picturesIn, "records", name) }

func capacityPicture(t *testing.T) (string, string) {
	return excerpt(t, kept("capacity"), false, "hull")
}

func drillPicture(t *testing.T) (string, string) {
	return excerpt(t, kept("drill"), false, "phases-1", "throughput")
}

func studyPicture(t *testing.T) (string, string) {
	return excerpt(t, kept("study"), false, "levels-1", "forest")
}

// servePicture is the opening screen over the kept records.
func servePicture(t *testing.T) (string, string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(ln, serve.Options{Dir: filepath.Join(picturesIn, "records")})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve() }() // ends with Close
	t.Cleanup(func() { _ = s.Close() })
	address := "http://" + s.Listens() + "/"
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return address, pageMain.FindString(string(page))
}
