import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { Fault } from '../../src/api/errors.ts'
import { extract } from '../../src/sandbox/extract.ts'
import { Files } from '../../src/sandbox/files.ts'
import { ProcessBackend } from '../../src/sandbox/process.ts'
import type { Exit, Sandbox } from '../../src/sandbox/sandbox.ts'
import { TAR_END, type TarEntry, tarHeader, tarPadding } from '../../src/sandbox/tar.ts'
import { watch } from '../../src/sandbox/watch.ts'
import { Random } from '../support/random.ts'
import { count, tempFolder } from '../support/server.ts'

const run = promisify(execFile)
let folder: string
let sandbox: Sandbox
let backend: ProcessBackend
before(async () => {
  folder = await tempFolder()
  backend = new ProcessBackend(join(folder, 'sandboxes'))
  const limits = { memoryBytes: 1e9, processes: 100, cpus: 1, diskBytes: 1e9 }
  await backend.start({
    id: 'a',
    workingDir: '/w',
    env: {},
    limits,
    egress: { mode: 'none' },
    grants: [{ path: folder, readOnly: false }],
  })
  sandbox = backend.sandbox('a')
})
after(async () => {
  await backend.close()
  await rm(folder, { recursive: true, force: true })
})

const is = (code: string) => (error: unknown) => error instanceof Fault && error.code === code
async function* source(...chunks: (string | Uint8Array)[]) {
  for (const chunk of chunks) yield Buffer.from(chunk as Uint8Array)
}

describe('files through the port', () => {
  test('a sandbox that reads slowly makes the sender wait', async () => {
    const gone = new AbortController()
    const exit = new Promise<Exit>(resolve =>
      gone.signal.addEventListener('abort', () => resolve({ code: 137, reason: 'lost' })),
    )
    const never = new Writable({ highWaterMark: 16_384, write: () => undefined })
    const stuck: Sandbox = {
      ...sandbox,
      exec: async () => ({
        stdin: never,
        stdout: new PassThrough(),
        stderr: new PassThrough(),
        exit,
        signal: async () => undefined,
        resize: async () => undefined,
      }),
    }
    let taken = 0
    async function* endless() {
      for (;;) {
        taken += 65_536
        yield Buffer.alloc(65_536)
      }
    }
    const writing = new Files(stuck).write('/x', endless())
    await new Promise(resolve => setTimeout(resolve, 100))
    assert.ok(taken < 1e6, `${taken} bytes were taken though none was read`)
    gone.abort()
    await assert.rejects(writing, is('sandbox_unavailable'))
  })

  test('roots hold for every operation', async () => {
    const root = join(folder, 'root')
    await mkdir(join(root, 'in'), { recursive: true })
    await mkdir(join(folder, 'root-2'))
    await writeFile(join(folder, 'root-2/f'), 'outside')
    await symlink('..', join(root, 'up'))
    await symlink('../root-2/f', join(root, 'file'))
    await symlink('../root-2/new', join(root, 'dangling'))
    const files = new Files(sandbox, [root])
    const outside = [join(folder, 'root-2/f'), `${root}/up/root-2/f`, `${root}/file`, `${root}/../root-2/f`]
    for (const path of outside) {
      await assert.rejects(files.open(path), is('outside_workspace'), path)
      await assert.rejects(files.stat(path), is('outside_workspace'), path)
      await assert.rejects(files.write(path, source('x')), is('outside_workspace'), path)
    }
    await assert.rejects(files.write(`${root}/dangling`, source('x')), is('outside_workspace'))
    await assert.rejects(files.write(`${root}/up/root-2/a/b`, source('x')), is('outside_workspace'))
    for (const path of [`${root}/up`, `${root}/up/root-2`, join(folder, 'root-2')]) {
      await assert.rejects(files.list(path), is('outside_workspace'), path)
      await assert.rejects(files.makeDirectory(`${path}/new`), is('outside_workspace'), path)
    }
    await files.write(`${root}/in/x/y`, source('inside'))
    assert.equal((await files.stat(`${root}/in/x/y`)).size, 6)
    assert.deepEqual(await readdir(join(folder, 'root-2')), ['f'])
    assert.equal(await readFile(join(folder, 'root-2/f'), 'utf8'), 'outside')
  })

  test('names that are no UTF-8 are left out of a listing, and the rest is told by kind', async () => {
    await run('sh', ['-c', `mkdir l; cd l; touch "$(printf 'bad\\377')" f .h ..x; mkdir d; ln -s f link; mkfifo p`], {
      cwd: folder,
    })
    const entries = await new Files(sandbox).list(join(folder, 'l'))
    assert.deepEqual(entries.map(({ name, kind }) => `${name} ${kind}`).toSorted(), [
      '..x file',
      '.h file',
      'd directory',
      'f file',
      'link link',
      'p other',
    ])
  })

  test('a full disk is called that, and leaves nothing', async context => {
    const small = join(folder, 'small')
    await mkdir(small)
    const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', small]).catch(() => undefined)
    if (!mounted) return context.skip('nothing can be mounted here')
    try {
      const files = new Files(sandbox)
      await files.write(`${small}/old`, source('old'))
      for (const path of ['old', 'a/b/new']) {
        const writing = files.write(
          `${small}/${path}`,
          source(...Array.from({ length: 50 }, () => Buffer.alloc(65_536))),
        )
        await assert.rejects(writing, is('storage_full'))
      }
      assert.deepEqual(await readdir(small), ['old'])
      assert.equal(await readFile(join(small, 'old'), 'utf8'), 'old')
    } finally {
      await run('umount', [small])
    }
  })
})

describe('watching', () => {
  test('tells that it watches, then of changes, and ends when it is told', { timeout: 30_000 }, async () => {
    await mkdir(join(folder, 'watched'))
    const stop = new AbortController()
    const changes = watch(sandbox, join(folder, 'watched'), stop.signal)
    await changes.next()
    for (const change of ['one', 'two']) {
      const next = changes.next()
      await writeFile(join(folder, 'watched', 'file'), change)
      await next
    }
    const last = changes.next()
    stop.abort()
    assert.equal((await last).done, true)
    const missing = watch(sandbox, join(folder, 'missing'), new AbortController().signal)
    await assert.rejects(missing.next(), is('file_not_found'))
  })
})

describe('T-47: unpacking', () => {
  const entry = (more: Partial<TarEntry> & { name: string }): TarEntry => ({
    kind: 'file',
    target: '',
    mode: 0o644,
    modified: 1e9,
    size: 0,
    ...more,
  })
  const packed = (...entries: (Partial<TarEntry> & { name: string; content?: string })[]): Buffer =>
    gzipSync(
      Buffer.concat([
        ...entries.flatMap(({ content = '', ...more }) => [
          tarHeader(entry({ ...more, size: content.length })),
          Buffer.from(content),
          tarPadding(content.length),
        ]),
        TAR_END,
      ]),
    )
  let into = 0
  const unpack = async (bytes: Uint8Array, limits?: { bytes: number; entries: number }) => {
    const path = join(folder, 'unpacked', `${into++}`)
    await extract(sandbox, path, source(bytes), limits)
    return path
  }

  test('gives back what tar packed, long names, links and permissions included', async () => {
    const long = `${'long/'.repeat(40)}${'n'.repeat(200)}`
    await run(
      'sh',
      [
        '-c',
        `mkdir -p p/${long} p/sub; echo x > p/${long}/f; echo y > p/sub/y; chmod 755 p/sub/y; ln -s ../sub/y p/sub/l; ln p/sub/y p/hard; ln -s ${long} p/far; ln -s sub p/s`,
      ],
      { cwd: folder },
    )
    for (const format of ['gnu', 'pax', 'ustar']) {
      const what = format === 'ustar' ? ['sub', 's'] : ['.']
      const { stdout } = await run('tar', [`--format=${format}`, '-C', join(folder, 'p'), '-czf', '-', ...what], {
        encoding: 'buffer',
        maxBuffer: 1e8,
      })
      const path = await unpack(stdout)
      assert.equal(await readFile(join(path, 's/y'), 'utf8'), 'y\n')
      assert.equal(await readlink(join(path, 'sub/l')), '../sub/y')
      if (format === 'ustar') continue
      await run('diff', ['-r', '--no-dereference', join(folder, 'p'), path])
    }
    assert.deepEqual((await readdir(join(folder, 'unpacked'))).toSorted(), ['0', '1', '2'])
  })

  test('goes into an empty directory, and not into any other', async () => {
    const bytes = packed({ name: 'f', content: 'x' })
    const path = join(folder, 'target')
    await mkdir(path)
    await extract(sandbox, path, source(bytes))
    assert.equal(await readFile(join(path, 'f'), 'utf8'), 'x')
    await assert.rejects(extract(sandbox, path, source(bytes)), is('bad_request'))
    await assert.rejects(extract(sandbox, join(path, 'f'), source(bytes)), is('not_a_directory'))
  })

  test('what leads out is refused, whole, by every way it is known to try', async () => {
    const link = (name: string, target: string) => ({ kind: 'symlink' as const, name, target })
    const canary = join(folder, 'canary')
    await writeFile(canary, 'canary')
    const hostile: Parameters<typeof packed>[] = [
      [{ name: '../escaped', content: 'x' }],
      [{ name: 'a/../../escaped', content: 'x' }],
      [{ name: '/escaped', content: 'x' }],
      [{ name: `${folder}/escaped`, content: 'x' }],
      [{ name: './/../escaped', content: 'x' }],
      [{ kind: 'directory', name: '../escaped' }],
      [link('l', canary)],
      [link('l', '..')],
      [link('l', '../canary')],
      [link('a/l', '../../canary')],
      [link('l', 'a/../../canary')],
      [link('sub/x', '.'), link('a', 'sub/x/../..')],
      [link('l', '.'), { name: 'l/f', content: 'x' }],
      [link('l', '.'), link('l', '..')],
      [
        { name: 'f', content: 'x' },
        { name: 'f/below', content: 'x' },
      ],
      [{ kind: 'directory', name: 'd' }, link('d', '.')],
      [{ kind: 'hardlink', name: 'h', target: canary }],
      [{ kind: 'hardlink', name: 'h', target: '../canary' }],
      [{ kind: 'hardlink', name: 'h', target: 'none' }],
      [link('l', 'x'), { kind: 'hardlink', name: 'h', target: 'l' }],
    ]
    for (const entries of hostile)
      await assert.rejects(
        unpack(packed({ name: 'good', content: 'x' }, ...entries)),
        is('bad_request'),
        JSON.stringify(entries),
      )
    for (const type of ['3', '4', '6', 'S', 'M', 'Z']) {
      const header = tarHeader(entry({ name: 'device' }))
      header.write(type, 156, 'latin1')
      header.write('        ', 148, 'latin1')
      header.write(
        `${header
          .reduce((sum, byte) => sum + byte, 0)
          .toString(8)
          .padStart(6, '0')}\0 `,
        148,
        'latin1',
      )
      await assert.rejects(unpack(gzipSync(Buffer.concat([header, TAR_END]))), is('bad_request'), type)
    }
    assert.deepEqual(
      (await readdir(folder)).filter(name => /escaped|gantry/.test(name)),
      [],
    )
    assert.deepEqual(
      (await readdir(join(folder, 'unpacked'))).filter(name => name.startsWith('.') || Number(name) > 2),
      [],
    )
    assert.equal(await readFile(canary, 'utf8'), 'canary')
  })

  test('what unfolds to more than the limit is stopped there', async () => {
    const limits = { bytes: 10_000_000, entries: 1000 }
    const bomb = packed({ name: 'zeros', content: '\0'.repeat(50_000_000) })
    assert.ok(bomb.length < 100_000)
    await assert.rejects(unpack(bomb, limits), is('file_too_large'))
    const parts = Array.from({ length: 20 }, (_, i) => ({ name: `${i}`, content: 'x'.repeat(1_000_000) }))
    await assert.rejects(unpack(packed(...parts), limits), is('file_too_large'))
    const many = Array.from({ length: 1001 }, (_, i) => ({ name: `${i}` }))
    await assert.rejects(unpack(packed(...many), limits), is('bad_request'))
    const liar = tarHeader(entry({ name: 'liar', size: 0o77777777777 }))
    await assert.rejects(unpack(gzipSync(Buffer.concat([liar, Buffer.alloc(1000)])), limits), is('file_too_large'))
    assert.deepEqual(
      (await readdir(join(folder, 'unpacked'))).filter(name => name.startsWith('.')),
      [],
    )
  })

  const cases = count({ sample: 60, deep: 1000 })
  const random = new Random()
  test(`${cases} damaged archives are refused or unpacked, never half (seed ${random.seed})`, async () => {
    const good = packed(
      { kind: 'directory', name: 'd' },
      { name: 'd/f', content: 'x'.repeat(3000) },
      { name: 'g', content: 'y' },
    )
    for (let i = 0; i < cases; i++) {
      const bytes = random.next() < 0.5 ? Buffer.from(good.subarray(0, random.int(good.length))) : Buffer.from(good)
      if (bytes.length > 0 && random.next() < 0.7) bytes[random.int(bytes.length)]! ^= 1 << random.int(8)
      await unpack(bytes).catch(error => assert.ok(error instanceof Fault && error.status < 500, `${i}: ${error}`))
    }
    assert.deepEqual(
      (await readdir(join(folder, 'unpacked'))).filter(name => name.startsWith('.')),
      [],
    )
  })
})
