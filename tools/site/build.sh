#!/usr/bin/env bash
# Makes the site of the documentation in bin/site/html: README, docs, man pages and real reports, with a search that needs no
# server. Run it with `make site`, from the top of the clone. It needs Python 3.11 with venv; the first run gets the
# generator from the package index of pip.
#
# The generator is Sphinx (BSD, released several times a year) with MyST-Parser (Markdown, MIT) and Furo (MIT): 35 packages,
# 90 MB. Its search works from a directory. MkDocs with Material has a plugin for that, is 40 MB larger, and MkDocs itself had
# its last release in 2024. Zensical, its successor, is in alpha. Hugo and mdBook would be compiled here for minutes, and a
# theme with a search would come on top.
set -euo pipefail
plimsoll=$1
out=bin/site
venv=$out/venv
wanted=$(sha256sum tools/site/requirements.txt)
if [ "$(cat $venv/made 2>/dev/null)" != "$wanted" ]; then
	rm -rf $venv
	python3 -m venv $venv
	$venv/bin/pip install --quiet --disable-pip-version-check --requirement tools/site/requirements.txt
	echo "$wanted" >$venv/made
fi
rm -rf $out/source $out/html
mkdir -p $out/source/man $out/source/reports/reports
cp -r README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs examples published action.yml deploy $out/source/
mkdir -p $out/source/bench && cp bench/README.md $out/source/bench/
"$plimsoll" man --markdown $out/source/man >$out/man.log
for record in docs/pictures/records/*/; do
	"$plimsoll" report "$record" -o "$out/source/reports/reports/$(basename "$record").html" >>$out/reports.log 2>&1
done
$venv/bin/sphinx-build --quiet --fail-on-warning --keep-going -c tools/site -b html $out/source $out/html
cp $out/html/README.html $out/html/index.html
rm -rf $out/html/_sources
echo "$out/html/index.html"
