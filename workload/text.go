package workload

import (
	"encoding/binary"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// Words from which location and catalog documents are made.
var (
	placeKinds  = strings.Fields("bakery bank bar bookshop cafe cinema clinic gallery garage gym hotel library market museum office park pharmacy restaurant school theatre")
	placeTags   = strings.Fields("accessible busy central cheap children delivery family free garden historic indoor late local modern music outdoor parking popular quiet reservation seasonal terrace vegan view wifi")
	streetKinds = strings.Fields("Street Road Avenue Lane Square Way Court Drive Place Alley")
	prose       = strings.Fields(`a able about after again air all along also always among and another any around away back
be because before best better big both bright but by can careful clear close common cool day deep different down each early easy end
enough even every fair far fast fine first for fresh from full good great half hand hard heavy here high home idea in into just keep
kind large last late left light like line little long look low made main make many more morning most much near new next night none
now of off often old on one open or other our out over own part place plain quick quiet real right same second short side simple
slow small soft some sound still strong such sure take than that then there thing this time to together top toward true turn under
until up use very warm water way well while white whole wide with without work year young`)

	brands = strings.Fields(`Acorn Alpine Anchor Arbor Aspen Atlas Beacon Birch Borealis Boulder Bramble Breeze Brook Canyon
Cedar Cinder Cobalt Compass Copper Coral Crest Cypress Dune Ember Falcon Fern Fjord Flint Garnet Glacier Granite Harbor Hazel
Heron Horizon Indigo Ivory Jasper Juniper Kestrel Lagoon Lantern Larch Linden Lupine Maple Marble Meadow Meridian Mistral Nimbus
Northwind Oakley Onyx Orchard Osprey Pebblestone Pine Prairie Quarry Raven Reef Ridge Rowan Saffron Sequoia Sierra Slate Solstice
Sparrow Spruce Summit Sycamore Tamarack Thistle Timber Tundra Umber Vale Verdant Vesper Willow Wren Zephyr`)
	categories = strings.Fields(`appliances art audio baby bags bathroom bedding bicycles books cameras camping candles car ceramics
chairs cleaning clocks clothing coffee computers cookware cosmetics curtains cycling decoration desks drinks electronics fishing
fitness food footwear furniture games garden gifts glasses groceries hardware headphones hiking hobby jewellery kitchen lamps laptops
lighting luggage music office outdoor paint paper pets phones plants posters running shelves skiing sports stationery storage swimming
tablets tables tea television textiles tools toys travel vases video watches winter`)
	productTags = strings.Fields(`bargain bestseller bundle certified classic clearance compact cordless delivery digital durable
eco editor exclusive express fairtrade foldable fragile gift handmade heavy imported indoor kids large light limited local
lowstock luxury mini modern new organic outdoor portable premium preorder professional recycled refurbished retro returns sale
seasonal set slim small smart solar spare starter studio subscription summer trending vegan vintage warranty waterproof winter wireless`)
	colors    = strings.Fields("beige black blue brown cream cyan gold green grey ivory lime navy olive orange pink purple red silver teal violet white yellow")
	materials = strings.Fields("aluminium bamboo ceramic cork cotton glass leather linen oak paper plastic rubber silk steel stone titanium walnut wool")
	sizes     = strings.Fields("XS S M L XL XXL")
)

// pick returns a random element.
func pick[T any](r *random, from []T) T { return from[r.below(int64(len(from)))] }

// openString begins a string element whose text is appended next; closeString ends it.
func openString(dst []byte, key string) ([]byte, int) {
	dst = bsoncore.AppendHeader(dst, bsoncore.TypeString, key)
	return append(dst, 0, 0, 0, 0), len(dst)
}

func closeString(dst []byte, start int) []byte {
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// appendWords appends a string element of two words.
func appendWords(dst []byte, key, first, second string) []byte {
	dst, at := openString(dst, key)
	dst = append(dst, first...)
	dst = append(dst, ' ')
	dst = append(dst, second...)
	return closeString(dst, at)
}

// appendSentence appends a string element of n random words.
func appendSentence(dst []byte, key string, r *random, n int) []byte {
	dst, at := openString(dst, key)
	for i := range n {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, pick(r, prose)...)
	}
	return closeString(dst, at)
}

// appendDigits appends a string element that holds a number.
func appendDigits(dst []byte, key string, n int64) []byte {
	dst, at := openString(dst, key)
	return closeString(strconv.AppendInt(dst, n, 10), at)
}

// appendTags appends an array "tags" of n different words: neighbours at random distances.
func appendTags(dst []byte, r *random, words []string, n int) []byte {
	dst, at := openArrayElement(dst, "tags")
	step := int64(len(words) / n)
	word := r.below(int64(len(words)))
	for i := range n {
		dst = bsoncore.AppendStringElement(dst, indexNames[i], words[word%int64(len(words))])
		word += 1 + r.below(step)
	}
	return rawbson.Close(dst, at)
}

// indexNames are the keys of the elements of a BSON array.
var indexNames = [...]string{"0", "1", "2", "3", "4", "5", "6", "7"}
