#!/bin/sh
# Lighthouse on every page of a store with 10,000 runs (ASSAY_BENCH_RUNS), as a desk, as a desk in the dark and as a phone, whose CPU
# Lighthouse makes four times slower: run it where nothing else runs. Needs chromium, node and npx (which fetches lighthouse 12 from
# npm), and prints four scores for each: performance, accessibility, best practices, search.
#
#   sh scripts/lighthouse.sh [FOLDER for the reports]
set -eu
reports=${1:-$(mktemp -d)}
mkdir -p "$reports"
log=$reports/pages.log
input=$reports/input
rm -f "$input"
mkfifo "$input"
# The benchmark serves its store until its input ends.
ASSAY_BENCH_HOLD=1 cargo bench -q -p assay-web --bench pages <"$input" >"$log" &
exec 3>"$input"
until grep -q '^http://' "$log"; do
  kill -0 $! || { cat "$log"; exit 1; }
  sleep 1
done
read -r base compared <<LINE
$(grep '^http://' "$log")
LINE
run=/runs/261121-k7f2
for page in / /runs "$run" "$compared" /targets "/targets?target=/srv/lun3" /predict /diagnose /new /methods /login; do
  for form in mobile desktop dark; do
    flags="--headless=new --no-sandbox"
    preset=
    [ $form = mobile ] || preset=--preset=desktop
    [ $form = dark ] && flags="$flags --blink-settings=preferredColorScheme=0"
    report=$reports/$(printf %s "$page-$form" | tr -c 'a-zA-Z0-9' _ | cut -c1-60).json
    # shellcheck disable=SC2086
    CHROME_PATH=$(command -v chromium) npx --yes lighthouse@12 "$base$page" $preset --quiet --output=json \
      --only-categories=performance,accessibility,best-practices,seo --output-path="$report" --chrome-flags="$flags"
    node -e 'const c = require(process.argv[1]).categories;
      console.log(process.argv.slice(2).join(" "), ...Object.values(c).map((of) => Math.round(100 * of.score)));' \
      "$report" "$page" $form
  done
done
exec 3>&-
wait
