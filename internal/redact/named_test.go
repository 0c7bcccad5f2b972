package redact

import "testing"

func TestNamed(t *testing.T) {
	for line, want := range map[string]string{
		`parameter "primary_conninfo" changed to "host=127.0.0.1 password=abc123 dbname=postgres"`: `parameter "primary_conninfo" changed to "host=127.0.0.1 password=*** dbname=postgres"`,
		`{"apiKey": "abc", "n": 1}`:           `{"apiKey": ***, "n": 1}`,
		`{"password": "abc", "n": 1}`:         `{"password": ***, "n": 1}`,
		`PGPASSWORD='x y' psql`:               `PGPASSWORD=*** psql`,
		`dial postgres://admin:s3:c@[::1]/db`: `dial postgres://admin:***@[::1]/db`,
		`a=1&password=p&b=2`:                  `a=1&password=***&b=2`,
		`password authentication failed`:      `password authentication failed`,
		`passfile=/data/pgpass port=5432`:     `passfile=/data/pgpass port=5432`,
		`at 12:30:01 http://host:80/x@y`:      `at 12:30:01 http://host:80/x@y`,
		`PWD=/srv/db OLDPWD=/srv ./kill.sh`:   `PWD=/srv/db OLDPWD=/srv ./kill.sh`,
		`UID=sa;PWD=abc;`:                     `UID=sa;PWD=***;`,
		`createUser { pwd: "abc" }`:           `createUser { pwd: *** }`,
		`tokenizers: 12`:                      `tokenizers: 12`,
	} {
		if got := Named(line); got != want {
			t.Errorf("%s became %s, want %s", line, got, want)
		}
	}
}

func TestSecretName(t *testing.T) {
	for _, name := range []string{
		"password", "PGPASSWORD", "DB_PASSWORD", "dbPasswd", "MYSQL_PWD", "pwd", "authToken", "GITHUB_TOKEN", "tokens", "clientSecret",
		"AWS_SECRET_ACCESS_KEY", "credentials", "apiKey", "api_key", "apikey", "OPENAI_API_KEY", "privateKey", "authMechanismProperties",
		"SSH_KEY_PASSPHRASE", "token-file", "target.password",
	} {
		if !SecretName(name) {
			t.Errorf("%s is a credential", name)
		}
	}
	for _, name := range []string{
		"", "HOME", "PATH", "SHELL", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "tokenizer", "SECRETARY", "cwd", "key", "keyFile", "compass",
		"passes", "mapwdth", "GOMODCACHE",
	} {
		if SecretName(name) {
			t.Errorf("%s is no credential", name)
		}
	}
}

func TestSecretVariable(t *testing.T) {
	for name, value := range map[string]string{"PWD": "/srv/db", "OLDPWD": "/", "HOME": "/srv/home", "_": "/usr/bin/env"} {
		if SecretVariable(name, value) {
			t.Errorf("%s=%s is no credential", name, value)
		}
	}
	for name, value := range map[string]string{"PWD": "hunter2", "MYSQL_PWD": "/srv/db", "VAULT_TOKEN": "abc"} {
		if !SecretVariable(name, value) {
			t.Errorf("%s=%s is a credential", name, value)
		}
	}
}
