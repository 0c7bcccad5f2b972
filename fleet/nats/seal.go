package nats

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// kind is what a frame is.
type kind byte

const (
	ordinary kind = iota
	// last is the end of a wire. Its text says why, if the other side did not close it.
	last
	// begun is a part of a frame that the next one continues.
	begun
)

// sealer encrypts the messages of one subject. Its key is known to the two sides alone, so the messages of one run,
// direction or agent cannot be taken for those of another. The secret is that of the token.
type sealer struct{ cipher.AEAD }

func newSealer(own *ecdh.PrivateKey, other, secret []byte, subject string) (sealer, error) {
	public, err := ecdh.X25519().NewPublicKey(other)
	if err != nil {
		return sealer{}, err
	}
	shared, err := own.ECDH(public)
	if err != nil {
		return sealer{}, err
	}
	key, err := hkdf.Key(sha256.New, shared, secret, subject, keyBytes)
	if err != nil {
		return sealer{}, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

const frameHead = 9

func (s sealer) seal(number uint64, k kind, frame []byte) []byte {
	plain := make([]byte, frameHead, frameHead+len(frame))
	binary.BigEndian.PutUint64(plain, number)
	plain[8] = byte(k)
	return s.Seal(nil, nil, append(plain, frame...), nil)
}

func (s sealer) open(sealed []byte) (number uint64, k kind, frame []byte, err error) {
	plain, err := s.Open(nil, nil, sealed, nil)
	if err != nil {
		return 0, 0, nil, err
	}
	if len(plain) < frameHead {
		return 0, 0, nil, errors.New("no number")
	}
	return binary.BigEndian.Uint64(plain), kind(plain[8]), plain[frameHead:], nil
}
