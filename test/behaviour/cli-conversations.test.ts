import assert from 'node:assert/strict'
import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { cliOf, ProfileModel } from '../support/cli.ts'
import type { Ended } from '../support/command.ts'
import { NO_WALLS } from '../support/hands.ts'
import { finish, say } from '../support/model-server.ts'
import { aMessage, anOrder, TestServer, tempFolder } from '../support/server.ts'

let server: TestServer
let folder: string
let gantry: (args: string[], options?: { cwd?: string }) => Promise<Ended>
before(async () => {
  ;[server, folder] = await Promise.all([TestServer.start(), tempFolder()])
  gantry = cliOf(server)
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const start = async (conversation_id: string) => {
  await server.client.startConversation({ body: anOrder({ conversation_id }) })
  return conversation_id
}

describe('conversations by the beginning of their id', () => {
  test('the only one that begins so; several and none are said', async () => {
    const first = await start('abcdef00-0000-4000-8000-000000000001')
    await start('abcdef99-0000-4000-8000-000000000002')
    assert.equal((await gantry(['show', 'ABCDEF0'])).code, 0)
    assert.equal((await gantry(['show', first.replaceAll('-', '')])).code, 0)
    const several = await gantry(['show', 'abcdef'])
    assert.equal(several.code, 1)
    assert.match(several.stderr, /^gantry: "abcdef" is the beginning of several conversations: abcdef.*, abcdef.*\n$/)
    const none = await gantry(['show', 'fedcba'])
    assert.equal(none.code, 1)
    assert.match(none.stderr, /^gantry: there is no conversation "fedcba"\n$/)
  })
})

describe('gantry ls', () => {
  test('tells state, age and title, the newest first', async () => {
    const id = await start('12340000-0000-4000-8000-000000000003')
    const params = { conversation_id: id }
    await server.client.updateConversation({ params, body: { title: 'Mend\x1b[2J the roof' } })
    const { code, stdout } = await gantry(['ls', '--limit', '1'])
    assert.equal(code, 0)
    assert.match(stdout, /^12340000 {2}idle {2}\d+ s {2}Mend␛\[2J the roof\n$/)
  })

  test('only those in a state; as JSON, what the server tells', async () => {
    const paused = await start('56780000-0000-4000-8000-000000000004')
    await server.client.pauseConversation({ params: { conversation_id: paused } })
    const { stdout } = await gantry(['ls', '--status', 'paused', '--json'])
    const { items } = await server.client.searchConversations({ query: { status: 'paused' } })
    assert.deepEqual(JSON.parse(stdout), items)
    assert.deepEqual(
      items.map(({ id }) => id),
      [paused],
    )
  })
})

describe('gantry show', () => {
  test('the log for a person, and as JSON the log itself', async () => {
    const id = await start('9abc0000-0000-4000-8000-000000000005')
    const params = { conversation_id: id }
    await server.client.sendMessage({ params, body: aMessage('one\ntwo\x1b[31m') })
    assert.deepEqual(await gantry(['show', id]), { code: 0, stdout: '> one\n  two␛[31m\n', stderr: '' })
    const { stdout } = await gantry(['show', id, '--json'])
    const { items } = await server.client.searchEvents({ params })
    assert.deepEqual(
      stdout
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line)),
      items,
    )
  })

  test('a log of more than a page is whole', async () => {
    const id = await start('9abc0001-0000-4000-8000-000000000006')
    for (let i = 0; i < 60; i++)
      await server.client.sendMessage({ params: { conversation_id: id }, body: aMessage(`line ${i}`) })
    const { stdout } = await gantry(['show', id])
    assert.deepEqual(
      stdout.trimEnd().split('\n'),
      Array.from({ length: 60 }, (_, i) => `> line ${i}`),
    )
  })
})

describe('gantry approve and reject', () => {
  const both = [
    { command: 'echo one', security_risk: 'HIGH' },
    { command: 'echo two', security_risk: 'HIGH' },
  ]
  const asking = { calls: both.map(args => ({ name: 'terminal', arguments: args })) }

  test('an answer is to what it names; a reason is told to the agent', async () => {
    await using model = await ProfileModel.add(server, 'asking', [asking, finish()])
    const run = await gantry(['run', 'x', '--model', 'asking'])
    assert.equal(run.code, 4)
    const id = /gantry approve (\w+)/.exec(run.stderr)![1]!
    const [one, two] = [...run.stderr.matchAll(/^ {2}([0-9a-f]{8})$/gm)].map(found => found[1]!)
    const shown = await gantry(['show', id])
    assert.match(
      shown.stdout,
      /\n {2}\$ echo one\n.*\n {2}\$ echo two\nAnswer with: gantry approve/,
      'show tells what waits',
    )
    const unknown = await gantry(['approve', id, 'ffffffff'])
    assert.equal(unknown.code, 1)
    assert.match(unknown.stderr, new RegExp(`"ffffffff" is none of the actions that wait: ${one}, ${two}`))
    assert.equal((await gantry(['reject', id, two!, '--reason', 'one is enough'])).code, 0)
    assert.equal(model.asked.length, 1, 'one still waits')
    assert.equal((await gantry(['approve', id, one!])).code, 0)
    const { items } = await server.client.searchConversations({ query: { limit: 100 } })
    await server.atRest(items.find(item => item.id.startsWith(id))!.id)
    const heard = JSON.stringify(model.asked[1]!.messages)
    assert.match(heard, /one is enough/)
    assert.match(heard, /"one/)
  })

  test('where there is no server, the agent goes on in the process that said yes', { skip: NO_WALLS }, async t => {
    const data = await tempFolder()
    t.after(() => rm(data, { recursive: true, force: true }))
    const alone = cliOf({ data })
    const run = await alone(['run', 'show me', '--model', 'demo/guide'])
    assert.equal(run.code, 4)
    const approved = await alone(['approve', /gantry approve (\w+)/.exec(run.stderr)![1]!])
    assert.equal(approved.code, 0)
    assert.match(approved.stderr, /✓ \$ rm -r gantry-demo && echo deleted {2}deleted\n/)
    assert.match(approved.stdout, /^The folder is gone again/)
  })
})

describe('gantry export and import', () => {
  test('a conversation goes into a file and comes back with its log', async () => {
    await using _ = await ProfileModel.add(server, 'said', [say('Something worth keeping.')])
    const run = await gantry(['run', 'x', '--model', 'said'])
    const id = /Conversation (\w+)/.exec(run.stderr)![1]!
    const exported = await gantry(['export', id], { cwd: folder })
    assert.deepEqual(exported, { code: 0, stdout: `gantry-${id}.zip\n`, stderr: '' })
    const file = join(folder, `gantry-${id}.zip`)
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    const again = await gantry(['export', id], { cwd: folder })
    assert.equal(again.code, 1, 'nothing is written over that was not named')
    assert.equal(again.stderr, `gantry: gantry-${id}.zip: file already exists\n`)
    assert.equal((await gantry(['export', id, file])).code, 0)
    assert.equal((await readFile(file)).subarray(0, 2).toString(), 'PK')

    const imported = await gantry(['import', file])
    assert.equal(imported.code, 0, imported.stderr)
    const shown = await gantry(['show', imported.stdout.trim()])
    assert.match(shown.stdout, /^> x\nSomething worth keeping\.\n/)
  })

  test('a file that is not there, and one that is no zip, are one line', async () => {
    const absent = await gantry(['import', join(folder, 'absent.zip')])
    assert.equal(absent.code, 1)
    assert.equal(absent.stderr, `gantry: ${join(folder, 'absent.zip')}: no such file or directory\n`)
    const wrong = await gantry(['import', join(import.meta.dirname, 'cli-usage.test.ts')])
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /^gantry: [^\n]+\n$/)
  })
})
