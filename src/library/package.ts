import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { Fault, fault } from '../api/errors.ts'
import { extract } from '../sandbox/extract.ts'
import { Files } from '../sandbox/files.ts'
import { run } from '../sandbox/run.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { readTar, TAR_END, type TarEntry, tarHeader, tarPadding } from '../sandbox/tar.ts'
import type { Ground } from './fetch.ts'
import { FILES, TOTAL_BYTES } from './limits.ts'

export interface PackageFile {
  /** Relative, slashes between. */
  path: string
  executable: boolean
  content: Buffer
}

/** The files of one skill or plugin, as they were found. */
export interface Package {
  files: readonly PackageFile[]
  /** Of all of it. */
  sha256: string
  commit: string | null
}

const GONE = 3
const OUTSIDE = 4
const READ_MS = 30_000
/** What tar adds to a file: its header, and what fills the last block. */
const TAR_BYTES = 2 * 1024

/** top, folder → a tar of what lies there, links as links. A link that leads the folder itself out of the top is not followed. */
const SCRIPT = `cd -P -- "$1" || exit ${GONE}
top=$(pwd -P)
cd -P -- "./$2" || exit ${GONE}
case $(pwd -P)/ in "\${top%/}"/*) ;; *) exit ${OUTSIDE} ;; esac
exec tar -c --exclude=.git --exclude=node_modules -f - .`

/** Reads a package inside its sandbox. What is no plain file is left out. */
export async function readPackage(sandbox: Sandbox, { top, folder, commit }: Ground, signal: AbortSignal) {
  if ((await new Files(sandbox).stat(top)).kind !== 'directory') throw fault('not_a_directory')
  const argv = ['/bin/sh', '-c', SCRIPT, 'package', top, folder] as const
  const command = { argv, cwd: '/', timeoutMs: READ_MS, signal, label: 'reading a package' }
  const limit = TOTAL_BYTES + FILES * TAR_BYTES
  const { stdout, code, overflow } = await run(sandbox, command, { limit })
  signal.throwIfAborted()
  if (overflow) throw tooLarge()
  if (code === GONE) throw fault('package_not_fetched', `There is no folder ${folder || top}`)
  if (code === OUTSIDE) throw fault('package_not_fetched', `${folder} leads out of the repository`)
  if (code !== 0) throw fault('package_not_fetched', 'Its files could not be read')
  return packageOf(await filesIn(stdout), commit)
}

async function filesIn(tar: Buffer): Promise<PackageFile[]> {
  const files: PackageFile[] = []
  let current: Buffer[] | undefined
  const found: { entry: TarEntry; content: Buffer[] }[] = []
  for await (const part of readTar(oneChunk(tar))) {
    if (Buffer.isBuffer(part)) current?.push(part)
    else if (part.kind === 'file') {
      current = []
      found.push({ entry: part, content: current })
    } else current = undefined
  }
  for (const { entry, content } of found)
    files.push({
      path: Buffer.from(entry.name, 'latin1').toString('utf8').replace(/^\.\//, ''),
      executable: (entry.mode & 0o100) !== 0,
      content: Buffer.concat(content),
    })
  const bytes = files.reduce((sum, { content }) => sum + content.length, 0)
  if (files.length > FILES || bytes > TOTAL_BYTES) throw tooLarge()
  return files.sort((a, b) => (a.path < b.path ? -1 : 1))
}

async function* oneChunk(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

const tooLarge = () => fault('package_invalid', `It is larger than ${FILES} files or ${TOTAL_BYTES} bytes`)

export function packageOf(files: readonly PackageFile[], commit: string | null): Package {
  const hash = createHash('sha256')
  for (const { path, executable, content } of files)
    hash.update(`${JSON.stringify([path, executable, content.length])}\n`).update(content)
  return { files, sha256: hash.digest('hex'), commit }
}

export const textOf = ({ files }: Package, path: string): string | undefined =>
  files.find(file => file.path === path)?.content.toString('utf8')

/** Where a package lies in a sandbox: another one of its name lies elsewhere. */
export const rootIn = ({ home }: Sandbox, kind: 'skill' | 'plugin', name: string, sha256: string): string =>
  `${home}/.agents/installed/${kind}s/${sha256.slice(0, 12)}/${name}`

/** Has the files lie there, unless they do. */
export async function deliver(sandbox: Sandbox, root: string, files: readonly PackageFile[]): Promise<void> {
  const there = () =>
    new Files(sandbox).stat(root).then(
      () => true,
      () => false,
    )
  if (await there()) return
  try {
    await extract(sandbox, root, oneChunk(gzipSync(tarOf(files))))
  } catch (error) {
    // Somebody else was faster.
    if (!(error instanceof Fault && error.code === 'bad_request' && (await there()))) throw error
  }
}

const tarOf = (files: readonly PackageFile[]): Buffer =>
  Buffer.concat([
    ...files.flatMap(({ path, executable, content }) => [
      tarHeader({
        kind: 'file',
        name: Buffer.from(path, 'utf8').toString('latin1'),
        target: '',
        mode: executable ? 0o755 : 0o644,
        modified: 0,
        size: content.length,
      }),
      content,
      tarPadding(content.length),
    ]),
    TAR_END,
  ])
