#!/usr/bin/env bash
# Lets a load harness drive Hamlet. Two uses, both configured by environment variables:
#   HAMLET='benches/hamlet-target.sh serve'   serves in the foreground on 127.0.0.1:$PORT, with $UPSTREAM (no /v1) as its
#                                             Provider and $DATA_DIR as its store
#   HAMLET_READY='benches/hamlet-target.sh ready'   once $URL is up, prints the load client's arguments
# HAMLET_BIN names the binary; the default is the release build of this checkout.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
bin=${HAMLET_BIN:-$here/target/release/hamlet}

case "${1:-}" in
  serve)
    mkdir -p "$DATA_DIR"
    exec env OPENAI_API_KEY=sk-bench OPENAI_BASE_URL="$UPSTREAM/v1" HAMLET_DEFAULT_MODEL=bench HAMLET_LOG=warn \
      "$bin" serve --listen "127.0.0.1:$PORT" --data "$DATA_DIR"
    ;;
  ready)
    token=$("$bin" token --player bench --role admin --data "$DATA_DIR")
    npc=$(curl -fsS "$URL/api/npcs" -H "authorization: Bearer $token" | grep -o '"id":"[^"]*"' | head -1 | cut -d'"' -f4)
    printf '%s\n' "--header authorization:Bearer~$token --create-body {\"npcIds\":[\"$npc\"]} --id-key id --sub-path /api/conversations/{id}/frames"
    ;;
  *)
    echo "benches/hamlet-target.sh serve|ready" >&2
    exit 2
    ;;
esac
