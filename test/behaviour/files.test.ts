import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { UPLOAD_BYTES } from '../../src/http/limits.ts'
import { KEY } from '../support/access.ts'
import { multipart, RemoteFiles } from '../support/files.ts'
import { anOrder, count, TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

let server: TestServer
let files: RemoteFiles
before(async () => {
  server = await TestServer.start({ args: ['--log-level', 'error'], env: { SESSION_API_KEY: KEY } })
  files = await RemoteFiles.in(server)
})
after(() => server[Symbol.asyncDispose]())

const detailOf = ({ body }: { body: Buffer }): unknown => JSON.parse(body.toString()).detail
const names = async (path: string) =>
  (await server.client.searchSubdirectories({ query: { path, include_hidden: true } })).items.map(({ name }) => name)

describe('what is uploaded', () => {
  test('comes back byte for byte', async () => {
    const contents = [
      Buffer.alloc(0),
      Buffer.from('\r\n--'),
      Buffer.from('text\n'),
      Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
      randomBytes(300_000),
      Buffer.alloc(70_000, '\r\n--b'),
    ]
    for (const [i, content] of contents.entries()) {
      const path = files.at(`round-${i}`)
      const { status, body } = await files.upload(path, content)
      assert.deepEqual([status, body.toString()], [200, '{"success":true}'])
      const back = await files.download(path)
      assert.equal(back.status, 200)
      assert.equal(back.headers['content-length'], String(content.length))
      assert.ok(back.body.equals(content), `${i}`)
    }
  })

  test('has its parents made, replaces what was there, and keeps its permissions', async () => {
    const path = files.at('a/b/c.sh')
    assert.equal((await files.upload(path, 'one')).status, 200)
    assert.equal((await files.shell('stat -c %a a/b/c.sh a/b')).trim(), '644\n755')
    await files.shell('chmod 750 a/b/c.sh')
    assert.equal((await files.upload(path, 'three')).status, 200)
    assert.equal((await files.download(path)).body.toString(), 'three')
    assert.equal((await files.shell('stat -c %a a/b/c.sh; ls -A a/b')).trim(), '750\nc.sh')
  })

  test('goes where a link leads; the link stays, and other names of an old file keep the old content', async () => {
    await files.shell(
      'mkdir l; echo old > l/real; ln -s real l/link; ln -s new l/dangling; ln l/real l/other; ln -s x l/x',
    )
    assert.equal((await files.upload(files.at('l/link'), 'new')).status, 200)
    assert.equal((await files.upload(files.at('l/dangling'), 'made')).status, 200)
    assert.equal(
      await files.shell('cat l/real; cat l/other l/new; readlink l/link l/dangling'),
      'newold\nmadereal\nnew\n',
    )
    assert.equal((await files.upload(files.at('l/x'), 'loop')).status, 404)
  })

  test('is refused where no file can be, and says why', async () => {
    await files.shell('mkdir -p r/dir; echo x > r/file; mkfifo r/pipe')
    const cases: [path: string, status: number, detail: string | RegExp][] = [
      ['relative/path', 400, 'Path must be absolute'],
      ['', 400, 'Path must be absolute'],
      [files.at('r/dir'), 400, 'Path is not a file'],
      [files.at('r/pipe'), 400, 'Path is not a file'],
      [files.at('r/file/below'), 400, 'Path is not a directory'],
      ['/', 400, 'Path is not a file'],
      ['/dev/null', 400, 'Path is not a file'],
      ['/proc/new', 403, /^Permission denied/],
      [files.at('x'.repeat(256)), 400, 'Path is too long'],
      [`/${'x/'.repeat(2500)}`, 400, 'Path is too long'],
      [files.at('nul\0'), 400, 'A path cannot hold a NUL character'],
    ]
    for (const [path, status, detail] of cases) {
      const answer = await files.upload(path, 'x')
      assert.equal(answer.status, status, path)
      const said = detailOf(answer) as string
      assert.ok(typeof detail === 'string' ? said === detail : detail.test(said), `${path}: ${said}`)
    }
    const bytes = multipart([{ name: 'file', filename: 'f', content: 'x' }])
    const broken = await files.send({ method: 'POST', path: '/api/file/upload?path=/tmp/%ff%fe', ...bytes })
    assert.deepEqual([broken.status, detailOf(broken)], [400, 'Path must be UTF-8'])
  })

  test('may have any name there is', async () => {
    const strange = [
      'new\nline\n',
      ' blank ',
      '-rf',
      '--',
      `quo'te"s`,
      '$(touch x)`id`',
      '\\back\\slash',
      '*?[a-z]',
      'ünïcödé 🦀',
      'u\u0308',
      '\u202egnp.exe',
      '...',
      '%2e%2e%2f',
      '\t\x01\x7f',
      'x'.repeat(255),
      '€'.repeat(85),
      ';semi|pipe&',
    ]
    for (const name of strange) {
      const path = `${files.at('names', name)}/${name}`
      assert.equal((await files.upload(path, name)).status, 200, name)
      const { status, body, headers } = await files.download(path)
      assert.deepEqual([status, body.toString()], [200, name])
      const disposition = headers['content-disposition']!
      assert.match(disposition, /^attachment; filename="[\x20-\x7e]*"(; filename\*=UTF-8''[\w.%!#$&+^`|~-]+)?$/)
      const exact = /filename\*=UTF-8''(.*)$/.exec(disposition)?.[1]
      assert.equal(exact ? decodeURIComponent(exact) : /filename="(.*)"/.exec(disposition)![1], name)
    }
    assert.deepEqual((await names(files.at('names'))).toSorted(), strange.toSorted())
    assert.equal(await files.shell('ls -A | grep -c "^x$" || true'), '0\n')
  })
})

describe('an upload that does not come whole', () => {
  const head = (path: string, length: number, boundary = 'b') =>
    `POST /api/file/upload?path=${encodeURIComponent(path)} HTTP/1.1\r\nHost: ${new URL(server.url).host}\r\n` +
    `X-Session-API-Key: ${KEY}\r\nContent-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: ${length}\r\n\r\n`
  const part = '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
  const everything = () => files.shell('find cut | sort')

  test('leaves nothing: neither a part of it, nor parents, nor less of what was there', async () => {
    await files.upload(files.at('cut/there'), 'before')
    const before = await everything()
    for (const path of ['cut/there', 'cut/new', 'cut/p1/p2/p3/new'])
      for (const content of ['', 'a few bytes', 'x'.repeat(1_000_000)]) {
        const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
        await once(socket, 'connect')
        socket.write(head(files.at(path), 2_000_000) + part + content)
        await until('it has begun', async () => content === '' || (await everything()).includes('.gantry-'))
        socket.destroy()
        await until('it is undone', async () => (await everything()) === before)
      }
    assert.equal((await files.download(files.at('cut/there'))).body.toString(), 'before')
  })

  test('is refused when the form is cut short, though the request is whole', async () => {
    const { body, headers } = multipart([{ name: 'file', filename: 'f', content: 'x'.repeat(1000) }], 'b')
    for (const cut of [1, 2, 3, 5, 6, 500, body.length - 10]) {
      const path = `/api/file/upload?path=${encodeURIComponent(files.at('short/f'))}`
      const answer = await files.send({ method: 'POST', path, headers, body: body.subarray(0, body.length - cut) })
      if (cut <= 2) assert.equal(answer.status, 200, `${cut}`)
      else assert.equal(answer.status, 400, `${cut}: ${answer.body}`)
      if (cut <= 2) await files.shell('rm -r short')
    }
    assert.equal((await files.download(files.at('short/f'))).status, 404)
    assert.ok(!(await names(files.folder)).includes('short'))
  })

  test('is stopped at the limit, before it is sent where its size is said', async () => {
    const sent = request(`${server.url}/api/file/upload?path=${files.at('huge')}`, {
      method: 'POST',
      headers: {
        'X-Session-API-Key': KEY,
        'Content-Type': 'multipart/form-data; boundary=b',
        'Content-Length': UPLOAD_BYTES * 2,
      },
    })
    sent.on('error', () => undefined)
    sent.write(part)
    const [response] = await once(sent, 'response')
    assert.equal(response.statusCode, 413)
    sent.destroy()
    assert.equal((await files.download(files.at('huge'))).status, 404)
  })

  test('without a file it is invalid, as it is with two', async () => {
    const path = `/api/file/upload?path=${encodeURIComponent(files.at('none'))}`
    const missing = [{ type: 'missing', loc: ['body', 'file'], msg: 'Field required', input: null }]
    const json = { headers: { 'Content-Type': 'application/json' }, body: Buffer.from('{}') }
    for (const form of [multipart([]), multipart([{ name: 'other', content: 'x' }]), json, {}]) {
      const answer = await files.send({ method: 'POST', path, ...form })
      assert.deepEqual([answer.status, detailOf(answer)], [422, missing])
    }
    const file = { name: 'file', filename: 'f', content: 'x' }
    assert.equal((await files.send({ method: 'POST', path, ...multipart([file, file]) })).status, 422)
    assert.equal((await files.download(files.at('none'))).status, 404)
    for (const order of [
      [{ name: 'a', content: 'b' }, file],
      [file, { name: 'a', content: 'b' }],
    ])
      assert.equal((await files.send({ method: 'POST', path, ...multipart(order) })).status, 200)
    assert.equal((await files.download(files.at('none'))).body.toString(), 'x')
  })
})

describe('a download', () => {
  const content = Buffer.from('0123456789')
  before(() => files.upload(files.at('ten'), content))

  const range = async (value: string, more: Record<string, string> = {}) => {
    const { status, headers, body } = await files.download(files.at('ten'), { Range: value, ...more })
    return [status, headers['content-range'], status === 416 ? '' : body.toString()]
  }

  test('gives the range that was asked for', async () => {
    assert.deepEqual(await range('bytes=0-0'), [206, 'bytes 0-0/10', '0'])
    assert.deepEqual(await range('bytes=2-4'), [206, 'bytes 2-4/10', '234'])
    assert.deepEqual(await range('bytes=7-'), [206, 'bytes 7-9/10', '789'])
    assert.deepEqual(await range('bytes=-3'), [206, 'bytes 7-9/10', '789'])
    assert.deepEqual(await range('bytes=-99'), [206, 'bytes 0-9/10', '0123456789'])
    assert.deepEqual(await range('bytes=8-99999999999999999999'), [206, 'bytes 8-9/10', '89'])
    assert.deepEqual(await range('bytes=10-'), [416, 'bytes */10', ''])
    assert.deepEqual(await range('bytes=-0'), [416, 'bytes */10', ''])
  })

  test('gives the whole for what it does not understand', async () => {
    for (const value of [
      'bytes=0-1,3-4',
      'bytes=4-2',
      'bytes=-',
      'bytes=a-b',
      'lines=1-2',
      'bytes 1-2',
      '',
      'bytes=1-2-3',
    ])
      assert.deepEqual(await range(value), [200, undefined, '0123456789'], value)
  })

  test('tells its version, and does not send again what the caller has', async () => {
    const { headers } = await files.download(files.at('ten'))
    const etag = headers.etag!
    assert.equal((await files.download(files.at('ten'), { 'If-None-Match': etag })).status, 304)
    assert.equal((await files.download(files.at('ten'), { 'If-None-Match': `"other", W/${etag}` })).status, 304)
    assert.equal((await files.download(files.at('ten'), { 'If-None-Match': '"other"' })).status, 200)
    assert.deepEqual(await range('bytes=1-1', { 'If-Range': etag }), [206, 'bytes 1-1/10', '1'])
    await files.upload(files.at('ten'), '9876543210')
    assert.notEqual((await files.download(files.at('ten'))).headers.etag, etag)
    assert.deepEqual(await range('bytes=1-1', { 'If-Range': etag }), [200, undefined, '9876543210'])
    await files.upload(files.at('ten'), content)
  })

  test('HEAD tells all about it and sends nothing', async () => {
    const { status, headers, body } = await files.download(files.at('ten'), {}, 'HEAD')
    assert.deepEqual(
      [status, headers['content-length'], headers['content-type']],
      [200, '10', 'application/octet-stream'],
    )
    assert.equal(body.length, 0)
    assert.equal(headers['content-disposition'], 'attachment; filename="ten"')
    const part = await files.download(files.at('ten'), { Range: 'bytes=1-2' }, 'HEAD')
    assert.deepEqual([part.status, part.headers['content-length']], [206, '2'])
  })

  test('is refused for what is no file', async () => {
    await files.shell('mkdir -p d; mkfifo d/pipe; ln -s nowhere d/dangling; ln -s loop d/loop')
    const cases: [string, number, string][] = [
      ['ten', 400, 'Path must be absolute'],
      [files.at('d'), 400, 'Path is not a file'],
      [files.at('d/pipe'), 400, 'Path is not a file'],
      ['/dev/zero', 400, 'Path is not a file'],
      [files.at('nowhere'), 404, 'File not found'],
      [files.at('d/dangling'), 404, 'File not found'],
      [files.at('d/loop'), 404, 'File not found'],
      [files.at('ten/below'), 404, 'File not found'],
    ]
    for (const [path, status, detail] of cases) {
      const answer = await files.download(path)
      assert.deepEqual([answer.status, detailOf(answer)], [status, detail], path)
    }
  })

  test('leaves no process behind, however it ends', async () => {
    await files.upload(files.at('large'), Buffer.alloc(20_000_000))
    const running = async () => Number(await files.shell('ps -ef | grep -c "[h]ead -c 20000000" || true'))
    for (let i = 0; i < 5; i++) {
      const sent = request(`${server.url}/api/file/download?path=${files.at('large')}`, {
        headers: { 'X-Session-API-Key': KEY },
      })
      sent.end()
      const [response] = await once(sent, 'response')
      response.destroy()
      await files.download(files.at('large'), {}, 'HEAD')
      await files.download(files.at('large'), { Range: 'bytes=99999999-' })
    }
    await until('nothing reads any more', async () => (await running()) === 0)
  })
})

describe('a large file', () => {
  test('passes through without being held', async () => {
    const peak = async () =>
      Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${server.pid}/status`, 'utf8'))![1]) / 1024
    const megabytes = count({ sample: 60, deep: 900 })
    await files.upload(files.at('warm'), Buffer.alloc(3_000_000))
    await files.download(files.at('warm'))
    const before = await peak()
    const chunk = randomBytes(1024 * 1024)
    const hash = createHash('sha256')
    for (let i = 0; i < megabytes; i++) hash.update(chunk)
    const sent = request(`${server.url}/api/file/upload?path=${files.at('big')}`, {
      method: 'POST',
      headers: { 'X-Session-API-Key': KEY, 'Content-Type': 'multipart/form-data; boundary=b' },
    })
    sent.write('--b\r\nContent-Disposition: form-data; name="file"; filename="big"\r\n\r\n')
    for (let i = 0; i < megabytes; i++) if (!sent.write(chunk)) await once(sent, 'drain')
    sent.end('\r\n--b--\r\n')
    const [answer] = await once(sent, 'response')
    assert.equal(answer.statusCode, 200)
    answer.resume()
    const response = await fetch(`${server.url}/api/file/download?path=${files.at('big')}`, {
      headers: { 'X-Session-API-Key': KEY },
    })
    const back = createHash('sha256')
    for await (const part of response.body!) back.update(part)
    assert.equal(back.digest('hex'), hash.digest('hex'))
    const grown = (await peak()) - before
    assert.ok(grown < 120, `${megabytes} MB made the server grow by ${grown} MB`)
    await files.shell('rm big')
  })
})

describe('a slow reader', () => {
  test('is waited for: what it has not read stays where it is', async () => {
    const resident = async () =>
      Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${server.pid}/status`, 'utf8'))![1]) / 1024
    await files.shell('truncate -s 300M sparse')
    const before = await resident()
    const readers = await Promise.all(
      [1, 2, 3].map(async () => {
        const sent = request(`${server.url}/api/file/download?path=${files.at('sparse')}`, {
          headers: { 'X-Session-API-Key': KEY },
        })
        sent.end()
        const [response] = await once(sent, 'response')
        return response.pause()
      }),
    )
    await new Promise(resolve => setTimeout(resolve, 1000))
    const grown = (await resident()) - before
    for (const reader of readers) reader.destroy()
    assert.ok(grown < 60, `three readers that do not read made the server grow by ${grown} MB`)
  })
})

describe('directories', () => {
  test('are made with their parents, and may be there already', async () => {
    const make = (path: string) =>
      files.send({ method: 'POST', path: `/api/file/create_directory?path=${encodeURIComponent(path)}` })
    await files.upload(files.at('m/file'), 'x')
    await files.shell('ln -s none m/dangling')
    for (const path of ['m/1/2/3', 'm/1/2/3', 'm/1', 'm/1/../4'])
      assert.equal((await make(files.at(path))).status, 200, path)
    assert.deepEqual(await names(files.at('m')), ['1', '4'])
    for (const [path, status, detail] of [
      ['m', 400, 'Path must be absolute'],
      [files.at('m/file'), 400, 'Path is not a directory'],
      [files.at('m/file/below'), 400, 'Path is not a directory'],
      [files.at('m/dangling'), 400, 'Path is not a directory'],
      ['/proc/new', 403, 'Permission denied: /proc/new'],
    ] as const) {
      const answer = await make(path)
      assert.deepEqual([answer.status, detailOf(answer)], [status, detail], path)
    }
  })

  test('are listed page by page, in order of their names in any case', async () => {
    const made = ['Beta', 'alpha', 'ALPHA', 'Alpha', '.hidden', 'gamma', 'delta', 'ä', '10', '9', 'z\nz']
    for (const name of made) await server.client.createDirectory({ query: { path: files.at('s', name) } })
    await files.shell('touch s/file; ln -s . s/link')
    const listed = (include_hidden: boolean, limit: number) => pages(files.at('s'), include_hidden, limit)
    const shown = ['10', '9', 'ALPHA', 'Alpha', 'alpha', 'Beta', 'delta', 'gamma', 'z\nz', 'ä']
    for (const limit of [1, 2, 3, 100]) assert.deepEqual(await listed(false, limit), shown, `${limit}`)
    assert.deepEqual(await listed(true, 4), ['.hidden', ...shown])
    const { items, next_page_id } = await server.client.searchSubdirectories({
      query: { path: files.at('s/'), limit: 2, page_id: 'beta' },
    })
    assert.deepEqual(items, [
      { name: 'Beta', path: files.at('s/Beta') },
      { name: 'delta', path: files.at('s/delta') },
    ])
    assert.equal(next_page_id, 'gamma')
    const unknown = await server.client.searchSubdirectories({ query: { path: files.at('s'), page_id: 'unknown' } })
    assert.equal(unknown.items[0]!.name, '10')
  })

  async function pages(path: string, include_hidden: boolean, limit: number): Promise<string[]> {
    const found: string[] = []
    for (let page_id: string | null = null, more = true; more; more = page_id !== null) {
      const page = await server.client.searchSubdirectories({ query: { path, include_hidden, limit, page_id } })
      assert.ok(page.items.length <= limit)
      found.push(...page.items.map(({ name }) => name))
      page_id = page.next_page_id
      assert.ok(found.length < 1000)
    }
    return found
  }

  test('that cannot be listed say why', async () => {
    await files.upload(files.at('plain'), 'x')
    const cases: [string, number, string][] = [
      ['relative', 400, 'Path must be absolute'],
      [files.at('plain'), 400, 'Path is not a directory'],
      [files.at('missing'), 404, 'Directory not found'],
    ]
    for (const [path, status, detail] of cases) {
      const answer = await files.send({ path: `/api/file/search_subdirs?path=${encodeURIComponent(path)}` })
      assert.deepEqual([answer.status, detailOf(answer)], [status, detail], path)
    }
    assert.equal((await files.send({ path: '/api/file/search_subdirs?path=/&limit=0' })).status, 422)
  })

  test('with thousands of entries are listed in a moment', async () => {
    await files.shell('mkdir many; cd many; seq 5000 | xargs mkdir; ')
    const started = performance.now()
    const { items, next_page_id } = await server.client.searchSubdirectories({ query: { path: files.at('many') } })
    assert.deepEqual([items.length, items[0]!.name, next_page_id], [100, '1', '1089'])
    assert.ok(performance.now() - started < 2000)
  })

  test('home tells where it is and what is in it', async () => {
    const { home, favorites, locations } = await server.client.getHome()
    assert.ok(home.startsWith('/'))
    assert.deepEqual(locations, [{ label: '/', path: '/' }])
    assert.ok(favorites.some(({ path }) => path === files.folder))
    await server.client.createDirectory({ query: { path: `${home}/.secret` } })
    assert.ok(!(await server.client.getHome()).favorites.some(({ label }) => label === '.secret'))
    const all = await server.client.getHome({ query: { include_hidden: true } })
    assert.ok(all.favorites.some(({ label }) => label === '.secret'))
  })
})

describe('where nothing isolates', () => {
  test('the file routes stay in the folder of the sandbox, whatever the path', async () => {
    await using plain = await TestServer.start({
      args: ['--log-level', 'error'],
      env: { SESSION_API_KEY: KEY, GANTRY_SANDBOX_SPECS: JSON.stringify([{ id: 'plain', backend: 'process' }]) },
    })
    const own = await RemoteFiles.in(plain)
    assert.equal(await own.isolated(), false)
    assert.equal((await own.upload(own.at('a/b'), 'x')).status, 200)
    assert.equal((await own.download(own.at('a/b'))).body.toString(), 'x')
    await own.shell(`ln -s / top; ln -s ${plain.data}/session-key key`)
    const outside = [
      '/etc/passwd',
      `${plain.data}/secret-key`,
      own.at('top/etc/passwd'),
      `${own.at('x')}/../../../../../secret-key`,
    ]
    for (const path of outside) {
      const answer = await own.download(path)
      assert.deepEqual([answer.status, detailOf(answer)], [400, 'Path is outside the workspace'], path)
      assert.equal((await own.upload(`${path}-new`, 'x')).status, 400, path)
    }
    for (const route of ['search_subdirs', 'archive'])
      for (const path of ['/etc', plain.data, own.at('top'), own.at('top/etc')])
        assert.equal(
          (await own.send({ path: `/api/file/${route}?path=${encodeURIComponent(path)}` })).status,
          400,
          path,
        )
    const { id } = await plain.client.startConversation({ body: anOrder({ workspace: { working_dir: '/etc' } }) })
    assert.equal((await own.send({ path: `/api/conversations/${id}/workspace/passwd` })).status, 400)
  })
})
