import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { repository } from '../support/git.ts'
import { watched } from '../support/npm-client.ts'
import { unused } from '../support/npm-client-table.ts'
import { anOrder, TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const { npm, called } = watched()
const {
  BashClient,
  DesktopClient,
  FileClient,
  HttpClient,
  RemoteWorkspace,
  VSCodeClient,
  Workspace,
  WorkspacesClient,
} = npm

let server: TestServer
let options: { host: string; apiKey: string; workingDir: string }
before(async () => {
  server = await TestServer.start({ env: { SESSION_API_KEY: 'the-key-of-this-server' } })
  options = { host: server.url, apiKey: server.key, workingDir: '/workspace' }
})
after(() => server[Symbol.asyncDispose]())

describe('the published npm client and a workspace', () => {
  test('starts, runs, finds and forgets commands', async () => {
    const client = new BashClient(options)
    const output = await client.executeCommand('echo out; echo err >&2; exit 2', '/tmp', 10.7)
    assert.deepEqual([output.exit_code, output.stdout, output.stderr], [2, 'out\n', 'err\n'])
    const command = await client.startCommand({ command: 'echo later', timeout: 10.5 })
    const found = await until('it ended', async () => {
      const { items } = await client.searchEvents({ command_id__eq: command.id, kind__eq: 'BashOutput', order__gt: -1 })
      return items.find(item => item.exit_code === 0)
    })
    assert.deepEqual(await client.getEvent(found.id), found)
    const inBatch = await client.batchGetEvents([command.id, 'unknown', found.id])
    assert.deepEqual(inBatch, [command, null, found])
    assert.deepEqual(await client.getEvents(['unknown', command.id]), [null, command])
    const newest = { sort_order: 'TIMESTAMP_DESC' } as const
    const all = (await client.searchEvents({ ...newest, limit: 100 })).items
    const first = await client.searchEvents({ ...newest, limit: 1 })
    const second = await client.searchEvents({ ...newest, limit: 1, page_id: first.next_page_id! })
    assert.deepEqual([...first.items, ...second.items], all.slice(0, 2))
    assert.deepEqual(await client.clearEvents(), { cleared_count: all.length })
    assert.deepEqual((await client.searchEvents()).items, [])
    client.close()
  })

  test('runs, looks at changes, and has a session for its files', async () => {
    const workspace = new Workspace(options)
    const path = await repository(server, 'npm', 'echo 1 > a; git add -A; git commit -qm one; echo 2 > a')
    const { exit_code, stdout } = await workspace.executeCommand('pwd', path)
    assert.deepEqual([exit_code, stdout], [0, `${path}\n`])
    assert.deepEqual(await workspace.gitChanges(path, { ref: 'HEAD' }), [{ status: 'UPDATED', path: 'a' }])
    const diff = await workspace.gitDiff(`${path}/a`, { ref: 'HEAD' })
    assert.deepEqual(diff, { modified: '2\n', original: '1\n' })
    await assert.rejects(workspace.gitChanges(path, { ref: 'none' }), /Failed to get git changes: .*\(400 /)
    const { id } = await server.client.startConversation({ body: anOrder({ workspace: { working_dir: path } }) })
    const address = await workspace.startWorkspaceSession(id)
    const file = await fetch(`${address}a`, { headers: { 'x-session-api-key': server.key } })
    assert.equal(await file.text(), '2\n')
    await workspace.deleteWorkspaceSession()
    workspace.close()
  })

  test('carries texts and files in and out of it', async () => {
    const remote = { type: 'remote' as const, options }
    const [workspace, other] = [npm.createWorkspace(remote), npm.createWorkspaceAuto(options)]
    assert.ok(workspace instanceof RemoteWorkspace && other instanceof RemoteWorkspace)
    const up = await workspace.uploadText('zażółć', '/workspace/text.txt')
    assert.deepEqual([up.success, up.destination_path], [true, '/workspace/text.txt'])
    assert.equal(await other.downloadAsText('/workspace/text.txt'), 'zażółć')
    await workspace.uploadFileObject(new File(['{"a":1}'], 'a.json'), '/workspace/a.json')
    const { content } = await workspace.fileDownload('/workspace/a.json')
    assert.equal(content, '{"a":1}')
    await workspace.fileUpload(new Blob(['blob']), '/workspace/blob')
    assert.equal((await workspace.downloadAsBlob('/workspace/blob')).size, 4)
    await assert.rejects(workspace.fileDownload('/workspace/none'), { name: 'HttpError', status: 404 })
  })

  test('carries bytes, and finds its way', async () => {
    const client = new FileClient(options)
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
    await client.uploadFile(new Blob([bytes]), '/workspace/bytes')
    assert.deepEqual(new Uint8Array(await client.downloadFile('/workspace/bytes')), bytes)
    await client.uploadTextFile('said', '/workspace/said')
    assert.equal(await client.downloadTextFile('/workspace/said'), 'said')
    assert.match((await client.getHome({ includeHidden: true })).home, /^\//)
    await server.client.executeBashCommand({ body: { command: 'cd /workspace; mkdir -p tree/a tree/b tree/.c' } })
    const first = await client.searchSubdirectories('/workspace/tree', { limit: 1 })
    assert.deepEqual(first.items, [{ name: 'a', path: '/workspace/tree/a' }])
    const pageId = first.next_page_id
    const rest = await client.searchSubdirectories('/workspace/tree', { pageId, includeHidden: true })
    assert.deepEqual(rest.items.map(({ name }) => name).sort(), ['b'])
    const { id } = await server.client.startConversation({ body: anOrder() })
    const zip = await client.downloadTrajectory(id)
    assert.equal((await zip.text()).slice(0, 2), 'PK')
    client.close()
  })

  test('keeps a list of workspaces', async () => {
    const client = new WorkspacesClient(options)
    const item = { id: '/workspace/tree', name: 'tree', path: '/workspace/tree' }
    assert.deepEqual(await client.listWorkspaces(), { workspaces: [], workspaceParents: [] })
    const { workspaces } = await client.addWorkspaces([item])
    assert.deepEqual(workspaces, [{ ...item, parentPath: null }])
    assert.deepEqual((await client.addWorkspaceParents([item])).workspaceParents, [item])
    assert.deepEqual(await client.deleteWorkspace(item.path), { deleted: true })
    assert.deepEqual(await client.deleteWorkspaceParent(item.path), { deleted: true })
    client.close()
  })

  test('is told that there is no editor and no desktop', async () => {
    const editor = new VSCodeClient(options)
    const { enabled, running } = await editor.getStatus()
    assert.deepEqual([enabled, running], [false, false])
    await assert.rejects(editor.getUrl({ baseUrl: server.url, workspaceDir: '/workspace' }), { status: 503 })
    editor.close()
    const desktop = new DesktopClient(options)
    await assert.rejects(desktop.getUrl(server.url), { status: 503 })
    desktop.close()
  })

  test('works below the address of a single sandbox too, with the key of that alone', async t => {
    const { session_api_key, exposed_urls } = await server.client.startSandbox({})
    const { url } = exposed_urls!.find(({ name }) => name === 'AGENT_SERVER')!
    const workspace = new RemoteWorkspace({ host: url, apiKey: session_api_key!, workingDir: '/workspace/own' })
    await workspace.executeCommand('mkdir -p /workspace/own; echo in there > /workspace/own/file')
    assert.equal(await workspace.downloadAsText('/workspace/own/file'), 'in there\n')
    const outside = new RemoteWorkspace(options)
    await assert.rejects(outside.downloadAsText('/workspace/own/file'), { status: 404 })
    const heard: string[] = []
    const agent = new npm.Agent({ llm: { model: 'demo/guide' } })
    const conversation = new npm.Conversation(agent, workspace, { callback: ({ source }) => heard.push(source!) })
    t.after(() => conversation.close())
    await conversation.start()
    await conversation.startWebSocketClient()
    await until('the snapshot came', () => heard.length > 0)
    await conversation.sendMessage('Hello')
    await conversation.run()
    await until('the answer came', () => heard.includes('agent'))
  })

  test('says what was wrong', async () => {
    const client = new HttpClient({ baseUrl: server.url, apiKey: 'wrong' })
    await assert.rejects(client.patch('api/conversations/x', {}), { name: 'HttpError', status: 401 })
    client.close()
  })

  test('does here all that the table says', () => assert.deepEqual(unused(called, 'workspace'), []))
})
