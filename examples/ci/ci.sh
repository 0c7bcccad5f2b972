#!/bin/sh
# Runs a specification, compares it with the records of the branch, and fails by rule, in any CI system.
#
#   SPEC=examples/ci/nightly.yaml STORE=plimsoll-data/history examples/ci/ci.sh
#
# OUT (plimsoll-ci) gets comment.md, junit.xml and plimsoll.sarif. FAIL_IF (worse), MARGIN (3%) and METRIC (all) are the
# rule. The branches are those of GitHub or GitLab, or BRANCH and AGAINST. CHANGE is the number of a pull request, whose
# record is never compared with. NO_PUSH=true stores no record.
set -eu
: "${SPEC:?the specification of the run or study}" "${STORE:?a directory, s3://BUCKET/PREFIX or oci://REGISTRY/REPOSITORY}"
out=${OUT:-plimsoll-ci}
mkdir -p "$out"
exec plimsoll ci "$SPEC" --store "$STORE" --dir "$out/records" --fail-if "${FAIL_IF:-worse}" --margin "${MARGIN:-3%}" \
	${METRIC:+--metric "$METRIC"} ${BRANCH:+--branch "$BRANCH"} ${AGAINST:+--against "$AGAINST"} \
	${CHANGE:+--change "$CHANGE"} $([ "${NO_PUSH:-false}" = true ] && echo --no-push) \
	--comment "$out/comment.md" --junit "$out/junit.xml" --sarif "$out/plimsoll.sarif"
