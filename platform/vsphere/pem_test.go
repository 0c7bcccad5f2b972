package vsphere

import (
	"encoding/pem"
	"os"
	"testing"
)

func writePEM(t *testing.T, name string, certificate []byte) {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
