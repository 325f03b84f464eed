import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { hexUuid, newId } from '../../src/lib/id.ts'
import { zip } from '../../src/lib/zip.ts'
import { KEY } from '../support/access.ts'
import { RemoteFiles } from '../support/files.ts'
import { aMessage, anOrder, DEEP, TestServer } from '../support/server.ts'

const run = promisify(execFile)
let server: TestServer
let files: RemoteFiles
let folder: string
before(async () => {
  server = await TestServer.start({ args: ['--log-level', 'error'], env: { SESSION_API_KEY: KEY } })
  files = await RemoteFiles.in(server)
  folder = await mkdtemp(join(tmpdir(), 'gantry-archive-'))
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const GIT = 'git -c user.name=a -c user.email=a@b.example -c init.defaultBranch=main -c commit.gpgsign=false'
const archive = (name: string, query = '') =>
  files.send({ path: `/api/file/archive?path=${encodeURIComponent(files.at(name))}${query}` })
const detailOf = ({ body }: { body: Buffer }): unknown => JSON.parse(body.toString()).detail

async function unpacked(body: Buffer, name: string): Promise<string[]> {
  const into = await mkdtemp(join(folder, 'x-'))
  await writeFile(join(into, 'a.tar.gz'), body)
  await run('tar', ['-xzf', 'a.tar.gz'], { cwd: into })
  const found = await readdir(join(into, name), { recursive: true })
  return found.toSorted()
}

describe('a directory as tar.gz', () => {
  before(() =>
    files.shell(`mkdir -p t/src t/node_modules/x t/deep/dist t/empty t/.git/refs; echo a > t/src/a.py; echo c > t/src/a.pyc
      echo big > t/node_modules/x/index.js; echo d > t/deep/dist/out; echo secret > t/.git/config; echo e > t/.git/HEAD
      echo y > "t/we ird
name"; ln -s /etc/passwd t/link`),
  )

  test('holds everything but what is made again, and says so in a manifest', async () => {
    const { status, headers, body } = await archive('t', '&format=tar.gz')
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'application/gzip')
    assert.equal(headers['content-disposition'], 'attachment; filename="t.tar.gz"')
    const found = await unpacked(body, 't')
    assert.deepEqual(found, ['archive_manifest.json', 'deep', 'empty', 'link', 'src', 'src/a.py', 'we ird\nname'])
  })

  test('takes more patterns, or only those; what a repository keeps to itself stays there', async () => {
    const some = await unpacked((await archive('t', '&format=tar.gz&exclude=*.py&exclude=empty/')).body, 't')
    assert.ok(!some.includes('src/a.py') && !some.includes('empty') && some.includes('src'))
    const all = await unpacked((await archive('t', '&format=tar.gz&use_default_excludes=false')).body, 't')
    for (const name of ['node_modules/x/index.js', 'deep/dist/out', 'src/a.pyc', '.git/HEAD'])
      assert.ok(all.includes(name), name)
    assert.ok(!all.includes('.git/config'))
  })

  test('keeps a manifest that is there', async () => {
    await files.upload(files.at('m/archive_manifest.json'), 'mine')
    const { body } = await archive('m', '&format=tar.gz')
    await writeFile(join(folder, 'm.tar.gz'), body)
    const { stdout } = await run('tar', ['-xzOf', join(folder, 'm.tar.gz'), 'm/archive_manifest.json'])
    assert.equal(stdout, 'mine')
  })

  test('may have any name', async () => {
    for (const name of ['-C', '--help', 'new\nline', `q"'uote`, '$(id)']) {
      await files.upload(files.at('odd', name, 'f'), 'x')
      const { status, body } = await archive(`odd/${name}`, '&format=tar.gz')
      assert.equal(status, 200, name)
      assert.ok((await unpacked(body, name)).includes('f'), name)
    }
  })

  test('takes a pattern as a pattern, whatever it looks like', async () => {
    for (const pattern of [
      '--checkpoint-action=exec=touch pwned',
      '-f',
      '$(touch pwned)',
      "'",
      '\\',
      '[',
      '*'.repeat(500),
    ])
      assert.equal((await archive('t', `&format=tar.gz&exclude=${encodeURIComponent(pattern)}`)).status, 200, pattern)
    assert.equal((await archive('t', '&format=tar.gz&exclude=a%0ab')).status, 400)
    assert.equal(await files.shell('find . -name "*pwned*"'), '')
  })

  test('that is none is refused', async () => {
    await files.upload(files.at('plain'), 'x')
    assert.deepEqual(detailOf(await archive('plain', '&format=tar.gz')), 'Path is not a directory')
    const missing = await archive('missing')
    assert.deepEqual([missing.status, detailOf(missing)], [404, 'Directory not found'])
    const relative = await files.send({ path: '/api/file/archive?path=x' })
    assert.deepEqual([relative.status, detailOf(relative)], [400, 'Path must be absolute'])
    assert.equal((await archive('t', '&format=zip')).status, 422)
  })
})

describe('a directory as a git delta', () => {
  before(() =>
    files.shell(`mkdir r; cd r; ${GIT} init -q; echo one > kept; echo one > changed; echo one > gone; printf '\\0\\1' > binary
      ${GIT} add -A; ${GIT} commit -qm first; ${GIT} remote add origin https://user:password@git.example/x.git
      echo two > changed; rm gone; echo new > added; printf '\\0\\2' > binary; mkdir dist sub; echo d > dist/x; echo s > sub/s`),
  )

  test('applies to what it was taken from, and tells what that is', async () => {
    const index = await files.shell(
      'cd r; git rev-parse HEAD; cat .git/index | cksum; find .git -type f | sort | cksum',
    )
    const { status, headers, body } = await archive('r', '&base_ref=HEAD')
    assert.equal(status, 200)
    const [head] = index.split('\n')
    assert.deepEqual(
      ['content-type', 'x-archive-branch', 'x-archive-head-commit', 'x-archive-base-commit', 'x-archive-base-ref'].map(
        name => headers[name],
      ),
      ['text/x-patch', 'main', head, head, 'HEAD'],
    )
    assert.equal(headers['x-archive-repo-remote'], 'https://git.example/x.git')
    assert.equal(headers['x-archive-repo-root'], files.at('r'))
    await files.upload(files.at('delta.patch'), body)
    const clone = await files.shell(
      `git clone -q r c 2>&1; cd c; git apply ../delta.patch; cat changed added sub/s; ls; cksum < binary`,
    )
    assert.match(clone, /^two\nnew\ns\nadded\nbinary\nchanged\nkept\nsub\n/)
    assert.ok(!body.includes('dist/x'))
    const again = await files.shell(
      'cd r; git rev-parse HEAD; cat .git/index | cksum; find .git -type f | sort | cksum',
    )
    assert.equal(again, index, 'the repository was not touched')
  })

  test('is against nothing where there is nothing else, or the branch it tracks', async () => {
    const fresh = await archive('r')
    assert.equal(fresh.headers['x-archive-base-commit'], undefined)
    assert.match(fresh.body.toString(), /\+\+\+ b\/kept/)
    await files.shell(`cd c; ${GIT} add -A; ${GIT} commit -qm second; echo more > more`)
    const tracking = await archive('c')
    assert.equal(tracking.headers['x-archive-base-ref'], 'auto')
    assert.match(tracking.body.toString(), /\+\+\+ b\/more/)
    assert.match(tracking.body.toString(), /\+\+\+ b\/added/)
    assert.doesNotMatch(tracking.body.toString(), /\+\+\+ b\/kept/)
  })

  test('finds the one repository below, and is confined to a directory of a larger one', async () => {
    await files.shell(`mkdir -p below/a/b two/x two/y; cp -r r below/a/b/r; cp -r r two/x; cp -r r two/y; mkdir none`)
    const found = await archive('below', '&base_ref=HEAD')
    assert.deepEqual([found.status, found.headers['x-archive-repo-root']], [200, files.at('below/a/b/r')])
    for (const name of ['two', 'none']) assert.equal((await archive(name)).status, 400, name)
    const part = (await archive('r/sub', '&base_ref=HEAD')).body.toString()
    assert.ok(part.includes('sub/s') && !part.includes('added'))
  })

  test('takes a ref as a ref, whatever it looks like', async () => {
    const dashed = await archive('r', '&base_ref=--output=/tmp/pwned')
    assert.deepEqual([dashed.status, detailOf(dashed)], [400, "base_ref must not start with '-'"])
    for (const ref of [
      'none',
      'HEAD:kept',
      '$(id)',
      'HEAD..HEAD',
      ':/first',
      'a b',
      '@{99}',
      'HEAD^{tree}',
      'ü',
      'HEAD%00x',
      '..',
    ])
      assert.ok(
        [200, 400].includes(
          (await archive('r', `&base_ref=${ref.includes('%') ? ref : encodeURIComponent(ref)}`)).status,
        ),
        ref,
      )
    const unknown = await archive('r', '&base_ref=none')
    assert.deepEqual([unknown.status, detailOf(unknown)], [400, "base_ref 'none' could not be resolved"])
  })

  test('runs nothing that a repository asks to have run', async () => {
    const mark = 'touch "$(dirname "$0")/../ran" 2>/dev/null; echo ran > ../ran; cat'
    await files.shell(`cp -r r evil; cd evil; printf '%s\\n' '#!/bin/sh' '${mark}' > ../evil.sh; chmod +x ../evil.sh; e="$PWD/../evil.sh"
      git config core.fsmonitor "$e"; git config core.hooksPath "$PWD/hooks"; git config diff.external "$e"; git config core.pager "$e"
      git config filter.x.clean "$e"; git config filter.x.process "$e"; git config filter.x.required true; git config diff.x.textconv "$e"
      git config diff.x.command "$e"; git config core.sshCommand "$e"; git config credential.helper "$e"; git config alias.diff "!$e"
      git config core.editor "$e"; git config core.askPass "$e"; git config gpg.program "$e"; git config merge.x.driver "$e"
      mkdir hooks; for h in post-index-change pre-commit post-checkout reference-transaction; do cp ../evil.sh hooks/$h; done
      printf '* filter=x diff=x merge=x\\n' > .gitattributes; cp .gitattributes .git/info/attributes`)
    for (const query of ['', '&base_ref=HEAD', '&format=tar.gz'])
      assert.equal((await archive('evil', query)).status, 200)
    assert.equal(await files.shell('ls ran ../ran 2>/dev/null || true'), '')
  })
})

describe('a conversation as a zip file', () => {
  test('holds what it is and all its events, and no secret', async () => {
    const secret = 'sk-very-secret-0123456789'
    const agent = { kind: 'Agent' as const, llm: { model: 'demo/guide', api_key: secret } }
    const secrets = { TOKEN: { kind: 'StaticSecret' as const, value: secret } }
    const { id } = await server.client.startConversation({
      body: anOrder({ agent, secrets, initial_message: aMessage('first') }),
    })
    await server.atRest(id)
    for (let i = 0; i < 5; i++)
      await server.client.sendMessage({ params: { conversation_id: id }, body: aMessage(`message ${i} ü`) })
    const { items } = await server.client.searchEvents({ params: { conversation_id: id } })
    const { status, headers, body } = await files.send({ path: `/api/file/download-trajectory/${hexUuid(id)}` })
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'application/octet-stream')
    assert.equal(headers['content-disposition'], `attachment; filename="${hexUuid(id)}.zip"`)
    const contents = await unzipped(body)
    const names = Object.keys(contents)
    assert.equal(names[0], `${hexUuid(id)}/meta.json`)
    assert.equal(JSON.parse(contents[names[0]!]!).id, id)
    assert.deepEqual(
      names.slice(1).map(name => JSON.parse(contents[name]!)),
      items,
    )
    assert.match(names[1]!, new RegExp(`^${hexUuid(id)}/events/event-00000-`))
    assert.ok(!Object.values(contents).join('').includes(secret))
  })

  test('is 404 when there is none', async () => {
    assert.equal((await files.send({ path: `/api/file/download-trajectory/${newId()}` })).status, 404)
    assert.equal((await files.send({ path: '/api/file/download-trajectory/nonsense' })).status, 422)
  })

  test('may be longer than a short directory can tell', { skip: !DEEP && 'in the deep tier' }, async () => {
    const total = 70_000
    async function* entries() {
      for (let i = 0; i < total; i++) yield { name: `e/${i}`, content: `${i}`, modified: new Date(0) }
    }
    const bytes = Buffer.concat(await Array.fromAsync(zip(entries())))
    const wide = bytes.lastIndexOf('PK\x06\x06')
    assert.equal(bytes.readBigUInt64LE(wide + 32), BigInt(total))
    const contents = await unzipped(bytes)
    assert.equal(Object.keys(contents).length, total)
    assert.equal(contents['e/69999'], '69999')
  })

  /** Read by somebody else's program, so that it is a zip file for others too. */
  async function unzipped(body: Buffer): Promise<Record<string, string>> {
    const path = join(folder, `${newId()}.zip`)
    await writeFile(path, body)
    const script =
      'import json,sys,zipfile\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\n' +
      'json.dump({n:z.read(n).decode() for n in z.namelist()},open(sys.argv[1]+".json","w"))'
    await run('python3', ['-c', script, path])
    return JSON.parse(await readFile(`${path}.json`, 'utf8'))
  }
})
