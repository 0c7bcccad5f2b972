#!/bin/sh
# start.sh postgres, start.sh ferretdb: one container of a pod each. Without users and passwords, so for tests only.
set -eu
export PATH="$(echo /usr/lib/postgresql/*/bin):$PATH"

# make_data makes the data directory under another name, so that one that is not complete is never used.
make_data() {
	rm -rf /data/new
	initdb -D /data/new -U postgres -A trust -E UTF8 --locale=C.UTF-8 >/dev/null
	cat >>/data/new/postgresql.conf <<-END
		shared_preload_libraries = 'pg_cron,pg_documentdb_core,pg_documentdb'
		cron.database_name = 'postgres'
		cron.use_background_workers = on
		documentdb.localhost_connection_string = 'host=/tmp'
		unix_socket_directories = '/tmp'
		listen_addresses = '127.0.0.1'
		max_connections = 200
		jit = off
	END
	pg_ctl -D /data/new -s -w start
	psql -h /tmp -U postgres -d postgres -q -c 'set client_min_messages to warning; create extension documentdb cascade'
	pg_ctl -D /data/new -s -w stop
	mv /data/new /data/db
	sync /data
}

case ${1:-} in
postgres)
	chown postgres: /data
	exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" as-postgres
	;;
as-postgres)
	# If a pod is killed without grace, the next one starts on the same node while the server of the first still runs.
	# Two PostgreSQL damage the data, and do not notice each other in two containers. The lock ends with the first. It
	# does not reach other nodes.
	exec 9>"/data/lock-${NODE:-}"
	flock 9
	[ -e /data/db ] || make_data
	exec postgres -D /data/db
	;;
ferretdb)
	export FERRETDB_POSTGRESQL_URL='postgres://postgres@127.0.0.1:5432/postgres?synchronous_commit=on&pool_max_conns=100&connect_timeout=2'
	exec ferretdb --listen-addr=:27017 --debug-addr=:8088 --auth=false --telemetry=disable --state-dir=/tmp --log-level=warn
	;;
*)
	echo "usage: start.sh postgres | ferretdb" >&2
	exit 2
	;;
esac
