import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { AgentRig, type Talk } from '../support/agent.ts'
import { call, finish, say, type Turn } from '../support/model-server.ts'

/** P7, as an agent meets it: secrets are where they were granted, and in the clear nowhere else. */

const VALUE = 'hunter2/Zq+9 & long-enough'
const DISGUISES = [
  VALUE,
  Buffer.from(VALUE).toString('base64').replaceAll('=', ''),
  Buffer.from(VALUE).toString('hex'),
  encodeURIComponent(VALUE),
]

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

const run = (command: string): Turn => call('terminal', { command })

/** What each command printed, in order. */
async function printedIn(talk: Talk): Promise<string[]> {
  const events = await talk.checkedEvents()
  return events.flatMap(event => {
    if (event.kind !== 'ObservationEvent' || event.tool_name !== 'terminal') return []
    return [event.observation.content.map(part => (part.type === 'text' ? part.text : '')).join('')]
  })
}

const assertHidden = (text: string, where: string) => {
  for (const disguise of DISGUISES) assert.ok(!text.includes(disguise), `${disguise} is readable in ${where}`)
}

async function files(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
}

test('a secret outlives the server, is there for the command that names it alone, and is masked however it is printed', async () => {
  const talk = await rig.begin({
    script: [
      run('printf %s "$DEPLOY_TOKEN" | wc -c'),
      run('echo "$DEPLOY_TOKEN"'),
      run('printf %s "$DEPLOY_TOKEN" | base64 -w0'),
      run('printf %s "$DEPLOY_TOKEN" | od -An -v -tx1 | tr -d " \\n"'),
      run(`python3 -c "import os,urllib.parse as u; print(u.quote(os.environ['DEPLOY_TOKEN'], safe=''))"`),
      run('env | sort'),
      say(`It is deployed with ${VALUE}.`),
    ],
  })
  assert.equal(await talk.post('secrets', { secrets: { DEPLOY_TOKEN: VALUE } }), 200)
  await rig.restart('SIGKILL')
  using socket = await talk.listen()
  await talk.say('deploy')
  await talk.comesTo('finished')
  const [length, plain, base64, hex, url, others] = await printedIn(talk)
  assert.match(length!, new RegExp(`^${VALUE.length}\\b`))
  for (const printed of [plain, base64, hex, url]) assert.match(printed!, /<secret-hidden>/)
  assert.doesNotMatch(others!, /DEPLOY_TOKEN|<secret-hidden>/)

  assertHidden(JSON.stringify(socket.frames), 'a frame')
  assertHidden(JSON.stringify(await talk.events()), 'an event')
  assertHidden(JSON.stringify(await talk.info()), 'the conversation')
  assertHidden(rig.server.output, 'the log')
  for (const path of await files(rig.server.data)) assertHidden(await readFile(path, 'latin1').catch(() => ''), path)
  for (const { messages } of rig.model.requests) assertHidden(JSON.stringify(messages), 'a question to the model')
})

test('a secret of the order is told by name, and another replaces the one of its name', async () => {
  let prompt = ''
  const talk = await rig.begin({
    script: ({ messages }, n) => {
      prompt = JSON.stringify(messages[0])
      return n % 2 === 0 ? run('printf %s "$API_PASS" | wc -c') : finish()
    },
    secrets: { API_PASS: { kind: 'StaticSecret', value: 'first-value', description: 'for the API' } },
  })
  await talk.say('one')
  await talk.comesTo('finished')
  assert.match(prompt, /\$API_PASS: for the API/)
  assert.deepEqual(Object.keys((await talk.info()).secret_registry.secret_sources), ['API_PASS'])
  await talk.post('secrets', { secrets: { API_PASS: 'a-second-value' } })
  await talk.say('two')
  await talk.comesTo('finished')
  assert.deepEqual(
    (await printedIn(talk)).map(printed => Number.parseInt(printed, 10)),
    [11, 14],
  )
})
