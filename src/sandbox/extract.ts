import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { fault } from '../api/errors.ts'
import { FOUND, PRELUDE } from './file-scripts.ts'
import { cleanPath, feed, listen, refusal } from './files.ts'
import type { Sandbox } from './sandbox.ts'
import { readTar, TAR_END, type TarEntry, tarHeader, tarPadding } from './tar.ts'

export interface ExtractLimits {
  /** Of all files together, unpacked. */
  bytes: number
  entries: number
}

/** A few kilobytes can unfold to a full disk: what is restored is a work folder, not a machine. */
export const EXTRACT_LIMITS: ExtractLimits = { bytes: 8 * 1024 ** 3, entries: 500_000 }

/**
 * path, token; a tar on standard input whose last entry bears the token. Unpacked beside the path and moved there when it is
 * whole: otherwise nothing is left of it.
 */
const EXTRACT_SCRIPT = `${PRELUDE}
path=$1 token=$2
dir=\${path%/*} name=\${path##*/}
[ ! -L "$path" ] || not_directory
if [ -e "$path" ]; then
  [ -d "$path" ] || not_directory
  rmdir "$path" 2>/dev/null || exit ${FOUND.taken}
fi
umask 022
mkdir -p -- "\${dir:-/}" || exit 1
cd -P -- "\${dir:-/}" || denied
temp=.gantry-$token
trap 'rm -rf "./$temp"' EXIT
trap 'exit 143' HUP INT TERM
mkdir "./$temp" || exit 1
tar -x -o -f - -C "./$temp" || exit 1
[ -f "./$temp/$token" ] || exit ${FOUND.cut}
rm -f "./$temp/$token"
[ ! -e "./$name" ] || exit ${FOUND.taken}
mv "./$temp" "./$name" || exit 1
trap - EXIT
sync . 2>/dev/null
exit 0
`

/** Unpacks a gzipped tar into a directory that is not there yet, or is empty. Everything in it stays in there, links included. */
export async function extract(
  sandbox: Sandbox,
  path: string,
  source: AsyncIterable<Uint8Array>,
  limits: ExtractLimits = EXTRACT_LIMITS,
): Promise<void> {
  const clean = cleanPath(path)
  const token = randomBytes(24).toString('base64url')
  const child = await sandbox.exec({
    argv: ['/bin/sh', '-c', EXTRACT_SCRIPT, 'extract', clean, token],
    cwd: '/',
    stdin: true,
  })
  const complaint = listen(child)
  child.stdout.resume()
  let failure: { error: unknown } | undefined
  try {
    const gunzip = createGunzip()
    const feeding = Readable.from(source)
    feeding.on('error', error => gunzip.destroy(error))
    if (await feed(child, judged(feeding.pipe(gunzip), limits)))
      child.stdin!.end(Buffer.concat([tarHeader(plainFile(token)), TAR_END]))
  } catch (error) {
    failure = { error: isZlib(error) ? fault('bad_request', 'This archive cannot be unpacked: it is no gzip') : error }
  }
  child.stdin!.end()
  const { code } = await child.exit
  if (failure) throw failure.error
  if (code !== 0) throw refusal(sandbox, clean, 'directory_not_found', code, await complaint)
}

const isZlib = (error: unknown): boolean => error instanceof Error && 'code' in error && /^Z_/.test(String(error.code))

const plainFile = (name: string): TarEntry => ({ kind: 'file', name, target: '', mode: 0o600, modified: 0, size: 0 })

const refuse = (why: string) => fault('bad_request', `This archive cannot be unpacked: ${why}`)

/** The archive anew, as long as nothing in it leads out of it. */
async function* judged(source: AsyncIterable<Uint8Array>, limits: ExtractLimits): AsyncGenerator<Buffer> {
  const seen = new Map<string, TarEntry['kind']>()
  let bytes = 0
  let size = 0
  for await (const part of readTar(source)) {
    if (Buffer.isBuffer(part)) {
      bytes += part.length
      yield part
      continue
    }
    yield tarPadding(size)
    size = part.size
    const entry = { ...part, name: inside(part.name) }
    if (entry.name === '') continue
    if (bytes + size > limits.bytes) throw fault('file_too_large', limits.bytes)
    if (seen.size >= limits.entries) throw refuse(`it holds more than ${limits.entries} entries`)
    check(entry, seen)
    seen.set(entry.name, entry.kind)
    yield tarHeader(entry.kind === 'hardlink' ? { ...entry, target: inside(entry.target) } : entry)
  }
  yield tarPadding(size)
}

/** A name in the archive's own folder; empty for that folder itself. */
function inside(name: string): string {
  const parts = name.split('/').filter(part => part !== '' && part !== '.')
  if (name.startsWith('/') || parts.includes('..') || name.includes('\0')) throw refuse('a name leads out of it')
  return parts.join('/')
}

/**
 * Nothing lies below a link, so every folder is where its name says. A link may go up from there, but not above the top, and only
 * at its beginning: what follows then leads down, or through links of which the same is true.
 */
function check({ kind, name, target }: TarEntry, seen: Map<string, TarEntry['kind']>): void {
  const parts = name.split('/')
  for (let i = 1; i < parts.length; i++) {
    const above = seen.get(parts.slice(0, i).join('/'))
    if (above !== undefined && above !== 'directory') throw refuse('something lies below what is no directory')
  }
  const before = seen.get(name)
  if (before !== undefined && (before !== kind || kind === 'symlink')) throw refuse('a name stands for two things')
  if (kind === 'hardlink' && seen.get(inside(target)) !== 'file') throw refuse('a link leads out of it')
  if (kind !== 'symlink') return
  const steps = target.split('/').filter(step => step !== '' && step !== '.')
  const ups = steps.findIndex(step => step !== '..')
  const climbs = ups < 0 ? steps.length : ups
  if (
    target.startsWith('/') ||
    target.includes('\0') ||
    climbs > parts.length - 1 ||
    steps.slice(climbs).includes('..')
  )
    throw refuse('a link leads out of it')
}
