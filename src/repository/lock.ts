import { once } from 'node:events'
import { fault } from '../api/errors.ts'
import { abortable } from '../lib/abort.ts'
import type { Bench } from './git.ts'

/**
 * file, seconds. `cat` ends when its input does, also because the server is gone: so a lock never outlives who holds it. Where there is
 * no flock it is a folder, which bears its holder's number from the first moment and is taken from one that is dead: the number may be
 * another's by then, so that it must have been started with the same words.
 */
const HOLD = `command -v flock >/dev/null && exec flock -x -w "$2" -- "$1" /bin/sh -c 'echo held; exec cat'
lock=$1.held own=$1.$$ tries=$(($2 * 5))
mkdir -- "$own" && echo $$ >"$own/holder" || exit 1
trap 'rm -rf -- "$own"' EXIT
trap 'exit 143' HUP INT TERM
until mv -T -- "$own" "$lock" 2>/dev/null; do
  read -r holder 2>/dev/null <"$lock/holder" && case $(tr '\\0' ' ' 2>/dev/null <"/proc/$holder/cmdline") in
    *"$1"*) ;;
    *) mv -T -- "$lock" "$own.dead" 2>/dev/null && rm -rf -- "$own.dead" ;;
  esac
  [ $((tries -= 1)) -gt 0 ] || exit 1
  sleep 0.2 2>/dev/null || sleep 1
done
own=$lock
echo held
cat`

/** Works while nobody else does under the same name in this sandbox. */
export async function locked<T>(bench: Bench, file: string, work: () => Promise<T>): Promise<T> {
  const { sandbox, limits, signal } = bench
  const seconds = Math.ceil((limits.fetchMs + limits.localMs) / 1000)
  const argv = ['/bin/sh', '-c', HOLD, 'sh', file, `${seconds}`] as const
  const holder = await sandbox.exec({ argv, cwd: '/', stdin: true, signal, label: 'waiting for a repository' })
  holder.stdin?.on('error', () => undefined)
  holder.stderr.resume()
  try {
    const said = once(holder.stdout, 'data').then(([chunk]) => `${chunk}`.trim())
    const first = await abortable(Promise.race([said, holder.exit.then(() => 'ended')]), signal)
    if (first !== 'held') throw fault('repository_failed', 'Another conversation still prepares the same repository')
    return await work()
  } finally {
    holder.stdin?.end()
    await holder.exit
  }
}
