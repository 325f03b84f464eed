import { PRELUDE } from './file-scripts.ts'
import { cleanPath, listen, refusal } from './files.ts'
import type { Sandbox } from './sandbox.ts'

/** How often it looks: soon enough for a person, seldom enough to cost nothing. */
const INTERVAL_SECONDS = 1
/** Names looked at of a directory; those beyond may change unseen. */
const WATCHED = 2000

/**
 * path, seconds → a character a look: `+` when something changed since the last one. The first says that it is there. A look that
 * nobody reads any more ends it.
 */
const WATCH_SCRIPT = `${PRELUDE}
path=$1
[ -e "$path" ] || missing
[ -r "$path" ] || denied
last=
while :; do
  if [ -d "$path" ] && cd -P -- "$path" 2>/dev/null; then
    set -- . ./* ./.[!.]*
    [ $# -le ${WATCHED} ] || set -- . "$1" "$2" "$3"
    now=$(stat -c '%n %f %s %i %y' "$@" 2>/dev/null | cksum)
  else now=$(stat -c '%f %s %i %y' "$path" 2>/dev/null | cksum)
  fi
  if [ "$now" = "$last" ]; then printf -- '-'; else printf '+'; fi
  last=$now
  sleep ${INTERVAL_SECONDS} || exit 1
done
`

/** Yields once it watches, and then whenever a file, or what stands in a directory, has changed: many changes at once are one. */
export async function* watch(sandbox: Sandbox, path: string, signal: AbortSignal): AsyncGenerator<void> {
  const clean = cleanPath(path)
  const ending = new AbortController()
  const child = await sandbox.exec({
    argv: ['/bin/sh', '-c', WATCH_SCRIPT, 'watch', clean],
    cwd: '/',
    signal: AbortSignal.any([signal, ending.signal]),
  })
  const complaint = listen(child)
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) if (chunk.includes('+')) yield
    const { code } = await child.exit
    if (!signal.aborted) throw refusal(sandbox, clean, 'file_not_found', code, await complaint)
  } finally {
    ending.abort()
  }
}
