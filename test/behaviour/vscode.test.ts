import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { appInProcess, type OwnApp } from '../support/app.ts'
import { exchange } from '../support/exchange.ts'
import { ask, NO_WALLS } from '../support/hands.ts'
import { NO_PYTHON } from '../support/inside.ts'
import { tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** Does what the real one does as far as we rely on it: listens where it is told, and opens to the token it was given. */
const EDITOR = `#!/usr/bin/env python3
import os, sys, urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
open('/tmp/starts', 'a').write(' '.join(sys.argv[1:]) + chr(10))
if os.path.exists('/tmp/broken'): sys.exit('no room for extensions')
host, port = given['--bind-addr'].split(':') if '--bind-addr' in given else (given['--host'], given['--port'])
class Editor(BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        asked = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        known = asked.get('tkn') == [given.get('--connection-token')]
        self.send_response(200 if known or '--auth' in given else 403); self.end_headers()
        self.wfile.write(('the editor of ' + asked.get('folder', ['nothing'])[0]).encode())
HTTPServer((host, int(port)), Editor).serve_forever()
`

let app: OwnApp
let key: string
before(async () => {
  app = await appInProcess()
  key = readFileSync(app.keyFile!, 'utf8')
})
after(() => app[Symbol.asyncDispose]())

interface Box {
  id: string
  session_api_key: string
}
const newBox = async (): Promise<Box> => (await ask(app, 'POST', '/api/v1/sandboxes', { key })).body
const inside = (box: Box, method: string, path: string, body?: object) =>
  ask(app, method, `/sandboxes/${box.id}${path}`, { key: box.session_api_key, ...(body && { body }) })
const sh = async (box: Box, command: string): Promise<string> =>
  (await inside(box, 'POST', '/api/bash/execute_bash_command', { command })).body.stdout ?? ''
const install = (box: Box, name: string) =>
  sh(box, `mkdir -p ~/.local/bin && cat > ~/.local/bin/${name} <<'EOF'\n${EDITOR}\nEOF\nchmod +x ~/.local/bin/${name}`)
const urlOf = async (box: Box, query = '') => new URL((await inside(box, 'GET', `/api/vscode/url${query}`)).body.url)
/** Names below localhost may not resolve here, so the server is asked by its address, under the site’s name. */
const visit = ({ host, pathname, search }: URL) =>
  exchange(app.url, { path: pathname + search, headers: { Host: host } })

describe('VS Code in a sandbox', { skip: NO_WALLS || NO_PYTHON }, () => {
  test('where there is none, that is said', async () => {
    const box = await newBox()
    const { body } = await inside(box, 'GET', '/api/vscode/status')
    assert.deepEqual([body.enabled, body.running], [false, false])
    assert.match(body.message, /openvscode-server/)
    const url = await inside(box, 'GET', '/api/vscode/url')
    assert.deepEqual([url.status, url.body.code, url.body.detail], [503, 'vscode_unavailable', body.message])
  })

  test('where there is one, it is started once, and opens to its address alone', async () => {
    const box = await newBox()
    await install(box, 'openvscode-server')
    assert.deepEqual((await inside(box, 'GET', '/api/vscode/status')).body, { running: false, enabled: true })
    const [url, again] = await Promise.all([urlOf(box), urlOf(box, '?base_url=http://localhost:8001')])
    assert.equal(url.href, again.href)
    assert.match(url.hostname, new RegExp(`^8001-${box.id}-\\w+\\.localhost$`))
    assert.deepEqual((await inside(box, 'GET', '/api/vscode/status')).body, { running: true, enabled: true })
    assert.equal((await visit(url)).text, 'the editor of /workspace/project')
    const without = new URL(url)
    without.searchParams.set('tkn', box.session_api_key)
    assert.equal((await visit(without)).status, 403)
    assert.equal((await sh(box, 'cat /tmp/starts')).trim().split('\n').length, 1)
    for (const secret of [key, box.session_api_key]) assert.ok(!url.href.includes(secret))
    assert.equal(
      (await urlOf(box, '?workspace_dir=sub/folder')).searchParams.get('folder'),
      '/workspace/project/sub/folder',
    )
    assert.equal((await urlOf(box, '?workspace_dir=/srv')).searchParams.get('folder'), '/srv')
  })

  test('one that has ended is started anew, beside whatever took its place', async () => {
    const box = await newBox()
    await install(box, 'openvscode-server')
    const first = await urlOf(box)
    await sh(
      box,
      'pkill -f openvscode-serve[r]; (setsid python3 -m http.server 8001 --bind 127.0.0.1 >/dev/null 2>&1 &)',
    )
    await until('it has ended', async () => !(await inside(box, 'GET', '/api/vscode/status')).body.running)
    await until('its port is taken', async () => (await visit(first)).status === 200)
    const second = await urlOf(box)
    assert.match(second.hostname, /^8002-/)
    assert.equal((await visit(second)).text, 'the editor of /workspace/project')
  })

  test('one that cannot start says why, and is tried again', async () => {
    const box = await newBox()
    await install(box, 'openvscode-server')
    await sh(box, 'touch /tmp/broken')
    const { status, body } = await inside(box, 'GET', '/api/vscode/url')
    assert.equal(status, 503)
    assert.match(body.detail, /no room for extensions/)
    await sh(box, 'rm /tmp/broken')
    assert.equal((await visit(await urlOf(box))).status, 200)
  })

  test('code-server will do', async () => {
    const box = await newBox()
    await install(box, 'code-server')
    assert.equal((await visit(await urlOf(box))).text, 'the editor of /workspace/project')
  })
})

test('without walls code-server is not used: it would open to everybody on the machine', async () => {
  const folder = await tempFolder()
  const withPath = [{ id: 'bare', backend: 'process', env: { PATH: `${folder}:/usr/bin:/bin` } }]
  await using bare = await appInProcess([], { GANTRY_SANDBOX_SPECS: JSON.stringify(withPath) })
  const told = async (path: string) => ask(bare, 'GET', path, { key: readFileSync(bare.keyFile!, 'utf8') })
  await writeFile(join(folder, 'code-server'), EDITOR, { mode: 0o755 })
  const { body } = await told('/api/vscode/status')
  assert.equal(body.enabled, false)
  assert.match(body.message, /everybody/)
  assert.equal((await told('/api/vscode/url')).status, 503)
  await writeFile(join(folder, 'openvscode-server'), EDITOR, { mode: 0o755 })
  assert.deepEqual((await told('/api/vscode/status')).body, { running: false, enabled: true })
  await rm(folder, { recursive: true })
})

test('a desktop is not there, and that is said', async () => {
  const { status, body } = await ask(app, 'GET', '/api/desktop/url', { key })
  assert.deepEqual([status, body.code], [503, 'desktop_unavailable'])
})
