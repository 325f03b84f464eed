import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { ProfileModel } from '../support/cli.ts'
import { call, finish, type Script, say } from '../support/model-server.ts'
import { TestServer, tempFolder } from '../support/server.ts'
import { AtTerminal, CTRL_C, CTRL_D, NO_TERMINAL } from '../support/terminal.ts'
import { until } from '../support/wait.ts'

const risky = (command: string) => call('terminal', { command, security_risk: 'HIGH', summary: 'Something bold' })
const harmless = (command: string) => call('terminal', { command, security_risk: 'LOW' })

describe('the command line at a terminal', { skip: NO_TERMINAL }, () => {
  let server: TestServer
  let profiles = 0
  before(async () => {
    server = await TestServer.start()
  })
  after(() => server[Symbol.asyncDispose]())

  /** A command with a model of its own. */
  async function at(script: Script, command: string, ...args: string[]) {
    const stack = new AsyncDisposableStack()
    const model = stack.use(await ProfileModel.add(server, `scripted-${++profiles}`, script))
    const terminal = stack.use(new AtTerminal([command, '--data', server.data, '--model', model.name, ...args]))
    return { terminal, asked: model.asked, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  const newest = async () => (await server.client.searchConversations({ query: { limit: 1 } })).items[0]!

  test('a run is seen as it goes, and ends with what it cost', async () => {
    await using it = await at(
      [
        say('I look first.', {
          calls: [{ name: 'terminal', arguments: { command: 'echo it-is-$((40+2))', security_risk: 'LOW' } }],
        }),
        finish('All done.'),
      ],
      'run',
      'look around',
    )
    assert.equal(await it.terminal.ended(), 0)
    const { text } = it.terminal
    assert.match(text, /in \/workspace\/project of the default sandbox/)
    assert.match(text, /I look first\.\n/)
    assert.match(text, /✓ \$ echo it-is-\$\(\(40\+2\)\) +it-is-42\n/)
    assert.match(text, /All done\.\n\$\d+\.\d+, \d+ tokens in, \d+ out\n$/)
    assert.ok(it.terminal.shown.includes('\x1b[32m✓'))
  })

  test('words come as they are said', async () => {
    await using it = await at([say('one two three four five six', { chunks: 6, stall: 'middle' })], 'run', 'count')
    await it.terminal.shows(/one two/)
    it.terminal.type(CTRL_C)
    assert.equal(await it.terminal.ended(), 130)
    assert.doesNotMatch(it.terminal.text, /six/)
  })

  test('and each once, from the first one on', async () => {
    await using it = await at([say('one two three four five six', { chunks: 6 })], 'run', 'count')
    assert.equal(await it.terminal.ended(), 0)
    assert.deepEqual(it.terminal.text.match(/\b(one|two|three|four|five|six)\b/g), [
      'one',
      'two',
      'three',
      'four',
      'five',
      'six',
    ])
  })

  test('NO_COLOR is heeded', async () => {
    await using _ = await ProfileModel.add(server, 'plain', [finish('plain')])
    await using terminal = new AtTerminal(['run', 'x', '--data', server.data, '--model', 'plain'], { NO_COLOR: '1' })
    assert.equal(await terminal.ended(), 0)
    assert.ok(!/\[\d+m/.test(terminal.shown))
  })

  test('it asks, shows exactly what would run, and a yes runs it', async () => {
    await using it = await at([risky('echo first\necho second > /workspace/yes'), finish()], 'run', 'be bold')
    await it.terminal.shows(
      /asks before it acts \(Something bold, high risk\)\n +\$ echo first\n +echo second > \/workspace\/yes\n.*y, n/,
    )
    assert.equal((await newest()).execution_status, 'waiting_for_confirmation')
    it.terminal.type('perhaps\n')
    await it.terminal.shows(/perhaps\n+Allow it\?/)
    assert.equal((await newest()).execution_status, 'waiting_for_confirmation', 'only a clear yes is one')
    it.terminal.type('y\n')
    assert.equal(await it.terminal.ended(), 0)
    assert.match(it.terminal.text, /✓ \$ echo first echo second/)
  })

  test('a no with a reason is told to the agent, which goes on', async () => {
    await using it = await at([risky('rm -rf /workspace/precious'), finish('Then I leave it.')], 'run', 'tidy up')
    await it.terminal.shows(/Allow it\?/)
    it.terminal.type('n that is my thesis\n')
    assert.equal(await it.terminal.ended(), 0)
    assert.match(it.terminal.text, /✗ \$ rm -rf \/workspace\/precious +rejected: that is my thesis\n/)
    assert.match(it.terminal.text, /Then I leave it\./)
    assert.match(JSON.stringify(it.asked[1]!.messages), /that is my thesis/)
  })

  test('each action that waits is asked for by itself', async () => {
    const both = [risky('echo one >> /workspace/both'), risky('echo two >> /workspace/both')].flatMap(
      turn => turn.calls!,
    )
    await using it = await at([{ calls: both }, harmless('cat /workspace/both'), finish()], 'run', 'both')
    await it.terminal.shows(/\$ echo one.*\n.*Allow it\?/)
    it.terminal.type('y\n')
    await it.terminal.shows(/\$ echo two.*\n.*Allow it\?/)
    it.terminal.type('n\n')
    assert.equal(await it.terminal.ended(), 0)
    assert.match(it.terminal.text, /✓ \$ cat \/workspace\/both +one\n/)
  })

  test('what an agent says cannot steer the terminal, nor dress a command up as another', async () => {
    const evil = 'echo \x1b[2K\rls \u202ecod.exe'
    await using it = await at(
      [say('\x1b]0;owned\x07\x1b[31mred\x9b5A', { calls: risky(evil).calls! }), finish()],
      'run',
      'x',
    )
    await it.terminal.shows(/Allow it\?/)
    assert.match(it.terminal.text, /\$ echo ␛\[2K␍ls \\u\{202e\}cod\.exe\n/)
    it.terminal.type('n\n')
    await it.terminal.ended()
    for (const steering of ['\x1b]', '\x9b', '\x07', '\x1b[2K', '\x1b[31mred', '\u202e'])
      assert.ok(!it.terminal.shown.includes(steering), JSON.stringify(steering))
  })

  test('Ctrl-C interrupts the run, says so, and leaves it to be gone on with', async () => {
    await using it = await at([harmless('echo begun > /workspace/begun; sleep 100'), finish()], 'run', 'sleep')
    await it.terminal.shows(/… \$ echo begun/)
    it.terminal.type(CTRL_C)
    assert.equal(await it.terminal.ended(), 130)
    assert.match(it.terminal.text, /Interrupting/)
    const { id, execution_status } = await newest()
    assert.equal(execution_status, 'paused')
    assert.match(it.terminal.text, new RegExp(`gantry run --resume ${id.slice(0, 8)}`))
  })

  test('Ctrl-C at a question leaves it open: nothing runs, and it can be answered later', async () => {
    await using it = await at([risky('echo no'), finish()], 'run', 'x')
    await it.terminal.shows(/Allow it\?/)
    it.terminal.type(CTRL_C)
    assert.equal(await it.terminal.ended(), 130)
    const { id, execution_status } = await newest()
    assert.equal(execution_status, 'waiting_for_confirmation')
    assert.match(it.terminal.text, new RegExp(`gantry approve ${id.slice(0, 8)}`))
    assert.equal(it.asked.length, 1)
  })

  test('Ctrl-C twice quits at once, whatever the server does', async () => {
    await using it = await at([{ stall: 'before' }], 'run', 'x')
    await until('the model is asked', () => it.asked.length === 1)
    process.kill(server.pid, 'SIGSTOP')
    try {
      it.terminal.type(CTRL_C)
      await it.terminal.shows(/Interrupting/)
      it.terminal.type(CTRL_C)
      assert.equal(await it.terminal.ended(), 130)
    } finally {
      process.kill(server.pid, 'SIGCONT')
    }
  })

  test('a chat goes line by line, asks, and knows its commands', async () => {
    await using it = await at([say('Hello you.'), risky('echo asked'), say('As you wish.'), say('Bye.')], 'chat')
    await it.terminal.shows(/\/help says what can be typed\n> /)
    it.terminal.type('hello\n')
    await it.terminal.shows(/Hello you\.\n+> /)
    it.terminal.type('/cost\n')
    await it.terminal.shows(/tokens in, \d+ out\n+> /)
    it.terminal.type('/model\n')
    await it.terminal.shows(/The model is openai\/scripted\n+> /)
    it.terminal.type('/model demo/guide2\n/nonsense\n')
    await it.terminal.shows(/There is no \/nonsense/)
    it.terminal.type(`/model scripted-${profiles}\ndo it\n`)
    await it.terminal.shows(/Allow it\?/)
    it.terminal.type('no, rather not\n')
    await it.terminal.shows(/rejected: rather not[\s\S]*As you wish\.\n+> /)
    it.terminal.type('/quit\n')
    assert.equal(await it.terminal.ended(), 0)
  })

  test('in a chat Ctrl-C stops the agent, not the chat; what is typed meanwhile is told to it; Ctrl-D leaves', async () => {
    const held = Promise.withResolvers<void>()
    await using it = await at(
      (_, n) => [{ ...say('one'), delay: held.promise }, say('two'), { stall: 'before' as const }, say('four')][n]!,
      'chat',
    )
    await it.terminal.shows(/> $/)
    it.terminal.type('begin\n')
    await until('the model is asked', () => it.asked.length === 1)
    it.terminal.type('and this too\n')
    await until('the message is on record', async () => {
      const { items } = await server.client.searchEvents({ params: { conversation_id: (await newest()).id } })
      return JSON.stringify(items).includes('and this too')
    })
    held.resolve()
    await it.terminal.shows(/two\n+> $/)
    it.terminal.type('again\n')
    await until('the model is asked', () => it.asked.length === 3)
    it.terminal.type(CTRL_C)
    await it.terminal.shows(/It has stopped; say something to go on\.\n+> $/)
    it.terminal.type('go\n')
    await it.terminal.shows(/four\n+> $/)
    it.terminal.type(CTRL_D)
    assert.equal(await it.terminal.ended(), 0)
  })

  test('without a server one lives as long as the run, in the folder it was granted', async t => {
    const [data, folder] = [await tempFolder(), await tempFolder()]
    t.after(() => Promise.all([data, folder].map(path => rm(path, { recursive: true, force: true }))))
    await using terminal = new AtTerminal([
      'run',
      'show me',
      '--data',
      data,
      '--workspace',
      folder,
      '--model',
      'demo/guide',
    ])
    await terminal.shows(/Allow it\?/)
    assert.match(terminal.text, new RegExp(`, in ${folder}\n`))
    terminal.type('y\n')
    assert.equal(await terminal.ended(), 0)
    assert.match(terminal.text, /The folder is gone again/)
  })
})
