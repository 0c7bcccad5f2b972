package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// keySite has MongoDB's public keys.
const keySite = "https://pgp.mongodb.com"

// maxKeys limits the size of a file with keys, in bytes.
const maxKeys = 1 << 20

// releaseKey is a key with which MongoDB signs releases. The fingerprint is a hash of the key, so any source of a key
// with this fingerprint is safe. The key has an expiry date; MongoDB publishes it again with later dates.
type releaseKey struct {
	releases    string // "8" for 8.0 and the rapid releases after it
	fingerprint string
	file        string // on keySite
}

// releaseKeys are MongoDB's. Other releases need --key or --sha256.
var releaseKeys = []releaseKey{
	{"4.4", "20691EEC35216C63CAF66CE1656408E390CFB1F5", "server-4.4.asc"},
	{"5", "F5679A222C647C87527C2F8CB00A0BD1E2C63C11", "server-5.0.asc"},
	{"6", "39BD841E4BE5FB195A65400E6A26B1AE64C3C388", "server-6.0.asc"},
	{"7", "E58830201F7DD82CD808AA84160D26BB1785BA38", "server-7.0.asc"},
	{"8", "4B0752C1BCA238C0B4EE14DC41DE058A4E7DCA05", "server-8.0.asc"},
	{"9", "B3B42B6C39E5CDDEC0A27E3CF366D55B602E502D", "server-9.asc"},
}

// keyOf returns the key that signs a release or a series.
func keyOf(keys []releaseKey, version string) (releaseKey, bool) {
	i := slices.IndexFunc(keys, func(k releaseKey) bool { return isRelease(version, k.releases) })
	if i < 0 {
		return releaseKey{}, false
	}
	return keys[i], true
}

var versionInName = expression.New(`-([0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.]+)?)\.tgz$`)

// versionOfName returns the release in the name of an archive, "" if the name does not follow MongoDB's pattern.
func versionOfName(source string) string {
	if m := versionInName().FindStringSubmatch(source); m != nil {
		return m[1]
	}
	return ""
}

// unverified ends the errors of archives that cannot be verified.
const unverified = "nothing of it was unpacked. If you have its checksum from a source that you trust, give it with --sha256"

// verify checks the detached signature NAME.sig of an archive, and returns a description of the proof.
func (f fetcher) verify(ctx context.Context, c choice, archive string) (proof string, err error) {
	keyring, name, err := f.keyring(ctx, c)
	if err != nil {
		return "", fmt.Errorf("cannot verify the signature of %s: %w; %s", c.source, err, unverified)
	}
	signature, err := f.small(ctx, c.source+".sig", maxSignature)
	if err != nil {
		return "", fmt.Errorf("cannot read the signature of %s: %w; %s", c.source, err, unverified)
	}
	in, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer in.Close()
	signed, signer, err := openpgp.VerifyDetachedSignature(keyring, in, bytes.NewReader(dearmor(signature)),
		&packet.Config{})
	if err == nil && (signed.SigType != packet.SigTypeBinary || !slices.Contains(strongHashes, signed.Hash)) {
		err = fmt.Errorf("its hash %v is not secure", signed.Hash)
	}
	if err != nil {
		return "", fmt.Errorf("the signature of %s is not valid: %s; %s", c.source, signatureError(err, name, signer), unverified)
	}
	return fmt.Sprintf("it is signed by %s (%s)", name, fingerprint(signer)), nil
}

// strongHashes are collision-resistant.
var strongHashes = []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512}

// keyring returns the keys that may have signed an archive, and their name for messages.
func (f fetcher) keyring(ctx context.Context, c choice) (openpgp.EntityList, string, error) {
	if c.key != "" {
		text, err := safeopen.ReadPath(c.key, maxKeys)
		if err != nil {
			return nil, "", fmt.Errorf("cannot read the key: %w", err)
		}
		keyring, err := readKeys(text)
		if err != nil {
			return nil, "", fmt.Errorf("%s has no OpenPGP key: %w", c.key, err)
		}
		return keyring, "a key of " + c.key, nil
	}
	if c.version == "" {
		return nil, "", errors.New("its name has no release, which decides the key: give --version, or the key with --key")
	}
	keys := f.keys
	if keys == nil {
		keys = releaseKeys
	}
	k, ok := keyOf(keys, c.version)
	if !ok {
		return nil, "", fmt.Errorf("this version of Plimsoll does not know the key of release %s: give it with --key", c.version)
	}
	text, from, err := f.keyFile(ctx, c, k)
	if err != nil {
		return nil, "", fmt.Errorf("cannot read the key: %w; give it with --key, or copy %s to the directory of the archive",
			err, k.file)
	}
	all, err := readKeys(text)
	if err != nil {
		return nil, "", fmt.Errorf("%s has no OpenPGP key: %w", from, err)
	}
	all = slices.DeleteFunc(all, func(e *openpgp.Entity) bool { return fingerprint(e) != k.fingerprint })
	if len(all) == 0 {
		return nil, "", fmt.Errorf("%s does not have MongoDB's key %s", from, k.fingerprint)
	}
	return all, "MongoDB's key for release " + k.releases, nil
}

// keyFile reads the file of a key: from the directory of a local archive, or from MongoDB.
func (f fetcher) keyFile(ctx context.Context, c choice, k releaseKey) (text []byte, from string, err error) {
	if !isURL(c.source) {
		from = filepath.Join(filepath.Dir(c.source), k.file)
		if text, err = safeopen.ReadPath(from, maxKeys); !errors.Is(err, os.ErrNotExist) {
			return text, from, err
		}
	}
	from = cmp.Or(f.site, keySite) + "/" + k.file
	text, err = f.small(ctx, from, maxKeys)
	return text, from, err
}

// readKeys reads keys in text or binary form.
func readKeys(text []byte) (openpgp.EntityList, error) {
	return openpgp.ReadKeyRing(bytes.NewReader(dearmor(text)))
}

func fingerprint(e *openpgp.Entity) string {
	return strings.ToUpper(hex.EncodeToString(e.PrimaryKey.Fingerprint))
}

// signatureError explains an error of a signature. signer is nil if it is unknown.
func signatureError(err error, key string, signer *openpgp.Entity) string {
	switch {
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return "it is not signed by " + key
	case errors.Is(err, pgperrors.ErrKeyExpired):
		return key + expiry(signer) + "; get the key with a later expiry date, for MongoDB's keys from " + keySite
	case errors.Is(err, pgperrors.ErrKeyRevoked):
		return key + " was revoked"
	}
	return err.Error()
}

func expiry(e *openpgp.Entity) string {
	if e != nil {
		if self, _ := e.PrimarySelfSignature(); self != nil && self.KeyLifetimeSecs != nil {
			return " expired on " + e.PrimaryKey.CreationTime.Add(time.Duration(*self.KeyLifetimeSecs)*time.Second).UTC().Format(
				time.DateOnly)
		}
	}
	return " has expired"
}

// dearmor decodes the text form, and returns other data unchanged.
func dearmor(data []byte) []byte {
	block, err := armor.Decode(bytes.NewReader(data))
	if err != nil {
		return data
	}
	binary, err := io.ReadAll(block.Body)
	if err != nil {
		return nil // damaged; the reader returns an error
	}
	return binary
}
