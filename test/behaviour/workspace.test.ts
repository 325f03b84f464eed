import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Auth } from '../../src/http/auth.ts'
import { newId } from '../../src/lib/id.ts'
import { KEY } from '../support/access.ts'
import { exchange } from '../support/exchange.ts'
import { RemoteFiles } from '../support/files.ts'
import { anOrder, TestServer } from '../support/server.ts'

let server: TestServer
let files: RemoteFiles
let base: string
before(async () => {
  server = await TestServer.start({ args: ['--log-level', 'error'], env: { SESSION_API_KEY: KEY } })
  files = await RemoteFiles.in(server)
  base = await workspaceAt(files.at('work'))
  const pages = { 'index.html': '<h1>root</h1>', 'sub/index.html': 'sub', 'sub/a b.txt': 'text', 'pic.svg': '<svg/>' }
  for (const [name, content] of Object.entries(pages)) await files.upload(files.at('work', name), content)
  await files.upload(files.at('outside.txt'), 'outside')
  await files.shell(
    'mkdir work/empty; cd work; ln -s ../outside.txt out; ln -s sub in; ln -s sub/index.html file; ln -s .. up',
  )
})
after(() => server[Symbol.asyncDispose]())

async function workspaceAt(working_dir: string): Promise<string> {
  const { id } = await server.client.startConversation({ body: anOrder({ workspace: { working_dir } }) })
  return `/api/conversations/${id}/workspace`
}
const get = (path: string, headers: Record<string, string> = {}) => files.send({ path: base + path, headers })
const ask = (headers: Record<string, string>, path = `${base}/sub/`, method = 'GET') =>
  exchange(server.url, { method, path, headers })

describe('the files of a workspace', () => {
  test('are shown with the type of their name; of a directory its index.html', async () => {
    const cases: [path: string, type: string, text: string][] = [
      ['', 'text/html; charset=utf-8', '<h1>root</h1>'],
      ['/', 'text/html; charset=utf-8', '<h1>root</h1>'],
      ['/index.html', 'text/html; charset=utf-8', '<h1>root</h1>'],
      ['/sub', 'text/html; charset=utf-8', 'sub'],
      ['/sub/', 'text/html; charset=utf-8', 'sub'],
      ['/sub/a%20b.txt', 'text/plain; charset=utf-8', 'text'],
      ['/sub%2fa%20b.txt', 'text/plain; charset=utf-8', 'text'],
      ['/sub/../sub/./a%20b.txt', 'text/plain; charset=utf-8', 'text'],
      ['/pic.svg', 'image/svg+xml', '<svg/>'],
      ['/in/a%20b.txt', 'text/plain; charset=utf-8', 'text'],
      ['/file', 'application/octet-stream', 'sub'],
    ]
    for (const [path, type, text] of cases) {
      const { status, headers, body } = await get(path)
      assert.deepEqual([status, headers['content-type'], body.toString()], [200, type, text], path)
    }
  })

  test('that are not there are 404, and what leads out is 400', async () => {
    const detail = (body: Buffer) => JSON.parse(body.toString()).detail
    for (const path of ['/none', '/empty', '/sub/none/deeper', '/index.html/below', '/%252e%252e/outside.txt']) {
      const { status, body } = await get(path)
      assert.deepEqual([status, detail(body)], [404, 'File not found'], path)
    }
    const out = [
      '/..',
      '/../outside.txt',
      '/%2e%2e%2foutside.txt',
      '/out',
      '/up',
      '/up/outside.txt',
      '//etc/passwd',
      '/up/none',
    ]
    for (const path of [...out, `/../work-2/secret`, `/${files.at('outside.txt')}`]) {
      const { status, body } = await get(path)
      assert.deepEqual([status, detail(body)], [400, 'Path is outside the workspace'], path)
    }
    assert.equal((await files.send({ path: `/api/conversations/${newId()}/workspace/x` })).status, 404)
    assert.equal((await files.send({ path: `${await workspaceAt(files.at('nowhere'))}` })).status, 404)
  })

  test('can never run as a page of ours', async () => {
    for (const path of ['', '/pic.svg', '/sub/a%20b.txt']) {
      const { headers } = await get(path)
      assert.equal(headers['content-security-policy'], 'sandbox')
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['x-frame-options'], undefined, 'it is shown in frames')
    }
    const part = await get('', { Range: 'bytes=0-2' })
    assert.deepEqual(
      [part.status, part.headers['content-security-policy'], part.body.toString()],
      [206, 'sandbox', '<h1'],
    )
    assert.equal((await get('/none')).headers['x-frame-options'], 'DENY')
    assert.equal((await files.send({ path: '/server_info' })).headers['x-frame-options'], 'DENY')
  })

  test('are not changed by any method', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      assert.equal((await files.send({ method, path: `${base}/index.html` })).status, 405)
    const head = await files.send({ method: 'HEAD', path: `${base}/index.html` })
    assert.deepEqual([head.status, head.headers['content-length']], [200, '13'])
  })
})

describe('the workspace cookie', () => {
  const start = (headers: Record<string, string>) => ask(headers, '/api/auth/workspace-session', 'POST')
  const cookieOf = async () => /^[^;]+/.exec((await start({ 'X-Session-API-Key': KEY })).headers['set-cookie']![0]!)![0]

  test('is given to whoever has the key, for frames on other sites, and can be given back', async () => {
    assert.equal((await start({})).status, 401)
    const { status, headers } = await start({ 'X-Session-API-Key': KEY })
    const [cookie] = headers['set-cookie']!
    assert.equal(status, 204)
    assert.match(
      cookie!,
      /^oh_workspace_session_key=[\w-]{43}; HttpOnly; Max-Age=315360000; Path=\/api\/conversations; SameSite=none; Secure; Partitioned$/,
    )
    assert.ok(!cookie!.includes(KEY))
    const end = await ask({ 'X-Session-API-Key': KEY }, '/api/auth/workspace-session', 'DELETE')
    assert.equal(end.status, 204)
    assert.match(end.headers['set-cookie']![0]!, /^oh_workspace_session_key=; HttpOnly; Max-Age=0;/)
  })

  test('asks for a trusted connection only where there may be one', async () => {
    const attributes = async (headers: Record<string, string>) =>
      (await start({ 'X-Session-API-Key': KEY, ...headers })).headers['set-cookie']![0]!.split('; ').slice(4).join('; ')
    const other = `192.0.2.1:${new URL(server.url).port}`
    assert.equal(await attributes({ Host: other }), 'SameSite=lax')
    assert.equal(await attributes({ Host: other, 'X-Forwarded-Proto': 'https' }), 'SameSite=none; Secure; Partitioned')
    assert.equal(
      await attributes({ Host: other, 'X-Forwarded-Host': 'localhost:1' }),
      'SameSite=none; Secure; Partitioned',
    )
  })

  test('reads the files of workspaces, also in frames and pictures of other pages', async () => {
    const Cookie = await cookieOf()
    assert.equal((await ask({})).status, 401)
    assert.equal((await ask({ Cookie })).status, 200)
    for (const site of ['cross-site', 'same-site']) {
      assert.equal((await ask({ Cookie, 'Sec-Fetch-Site': site, 'Sec-Fetch-Dest': 'iframe' })).text, 'sub')
      assert.equal((await ask({ 'Sec-Fetch-Site': site })).status, 403)
      assert.equal((await ask({ Cookie: `${Cookie}x`, 'Sec-Fetch-Site': site })).status, 403)
    }
    const page = { Cookie, Origin: 'http://localhost:3001', 'Sec-Fetch-Site': 'same-site' }
    const { status, headers } = await ask(page)
    assert.deepEqual([status, headers['access-control-allow-origin']], [200, 'http://localhost:3001'])
    assert.equal((await ask({ Cookie, Origin: 'https://evil.example' })).status, 403)
    assert.equal((await ask({ Cookie, Origin: 'null' })).status, 403)
  })

  test('does nothing else', async () => {
    const Cookie = await cookieOf()
    const id = base.split('/')[3]!
    const others: [string, string][] = [
      ['GET', `/api/conversations/${id}`],
      ['GET', `/api/conversations/${id}/events/search`],
      ['DELETE', `/api/conversations/${id}`],
      ['GET', '/api/conversations/search'],
      ['GET', `/api/file/download?path=${encodeURIComponent(files.at('work/index.html'))}`],
      ['GET', '/api/settings'],
      ['POST', '/api/auth/workspace-session'],
    ]
    for (const [method, path] of others) {
      assert.equal((await ask({ Cookie }, path, method)).status, 401, path)
      assert.equal((await ask({ Cookie, 'Sec-Fetch-Site': 'cross-site' }, path, method)).status, 403, path)
    }
  })
})

describe('the workspace cookie of a sandbox', () => {
  test('reads the workspaces of that sandbox alone, and is sent to its path alone', async () => {
    const auth = new Auth([KEY], 'key')
    const attempt = (workspaceCookie: string) =>
      ({
        key: undefined,
        authorization: undefined,
        cookie: undefined,
        workspaceCookie,
        verdict: 'own',
        loopback: true,
      }) as const
    const value = auth.workspaceSession('abc')
    assert.equal(auth.admit('workspace', attempt(value), false), 'workspace')
    assert.equal(auth.scopeOf(attempt(value), 'workspace'), 'abc')
    const [token] = value.split('.')
    for (const forged of [token!, `${token}.`, `${token}.abd`, `${auth.workspaceSession()}.abc`, `${value}.abd`])
      assert.equal(auth.admit('workspace', attempt(forged), false), undefined, forged)
    assert.equal(auth.admit('caller', attempt(value), false), undefined)

    const { headers } = await ask({ 'X-Session-API-Key': KEY }, '/sandboxes/default/api/auth/workspace-session', 'POST')
    const [cookie] = headers['set-cookie']!
    assert.match(cookie!, /\.default; HttpOnly; Max-Age=\d+; Path=\/sandboxes\/default\/api\/conversations;/)
    const Cookie = /^[^;]+/.exec(cookie!)![0]
    assert.equal((await ask({ Cookie })).text, 'sub')
    assert.equal((await ask({ Cookie }, `/sandboxes/default${base}/sub/`)).text, 'sub')
  })
})
