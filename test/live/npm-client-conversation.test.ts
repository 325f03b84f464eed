import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Event } from '../../src/api/events.ts'
import { newId } from '../../src/lib/id.ts'
import { AgentRig, sh } from '../support/agent.ts'
import { type Seen, say, type Turn } from '../support/model-server.ts'
import { watched } from '../support/npm-client.ts'
import { unused } from '../support/npm-client-table.ts'
import { aMessage } from '../support/server.ts'
import { until } from '../support/wait.ts'

const { npm, called } = watched()

/** Runs what it is told to, thinks for ever when told to wait, and finds every goal reached. */
function turn({ messages, body }: Seen): Turn {
  const { role, content } = messages.at(-1)
  const said = typeof content === 'string' ? content : JSON.stringify(content)
  if (body.tools === undefined) return say(`Aside: ${JSON.stringify({ score: 1, complete: true, missing: '' })}`)
  if (role === 'tool') return say(`Heard of it: ${messages.length}`)
  if (said.includes('wait')) return { stall: 'before' }
  const command = /run: ([^"]*)/.exec(said)?.[1]
  return command ? sh(command) : say('Hello.')
}

let rig: AgentRig
let client: InstanceType<typeof npm.ConversationClient>
let options: { host: string; apiKey: string }
before(async () => {
  rig = await AgentRig.start(turn, { env: { SESSION_API_KEY: 'the-key-of-this-server' } })
  options = { host: rig.server.url, apiKey: rig.server.key }
  client = new npm.ConversationClient(options)
  const profiles = new npm.ProfilesClient(options)
  await profiles.saveProfile('other', { llm: rig.model.llm() as never, include_secrets: true })
})
after(() => rig[Symbol.asyncDispose]())

const agent = () => new npm.Agent({ llm: rig.model.llm() as never, tools: [{ name: 'terminal' }] } as never)
const place = (workingDir: string) => new npm.RemoteWorkspace({ ...options, workingDir })

async function comesTo(id: string, status: string): Promise<void> {
  let last: string | undefined
  const there = async () => {
    last = (await client.getConversation(id)).execution_status
    return last === status
  }
  await until(`it is ${status}`, there).catch(error => assert.fail(`${error}: it is ${last}`))
}
const eventsOf = async (id: string, kind: string) =>
  (await client.searchEvents(id, { kind, limit: 100 })).items as unknown as Event[]
const goalOf = async (id: string) =>
  (await eventsOf(id, 'ConversationStateUpdateEvent'))
    .flatMap(event => ('key' in event && event.key === 'goal' ? [(event.value as { status: string }).status] : []))
    .at(-1)

describe('the published npm client and a conversation', () => {
  test('asks before it acts: a no keeps it from acting, a yes lets it, and the socket tells', async t => {
    const workspace = place('/workspace/asking')
    const heard: string[] = []
    const conversation = new npm.Conversation(agent(), workspace, { callback: ({ kind }) => heard.push(kind) })
    t.after(() => conversation.close())
    await conversation.start({ maxIterations: 20 })
    const { id } = conversation
    await conversation.startWebSocketClient()
    await until('the snapshot came', () => heard.length > 0)
    await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' } as never)
    await conversation.setSecurityAnalyzer({ kind: 'LLMSecurityAnalyzer' })
    await conversation.sendMessage('run: touch no')
    await conversation.run()
    await comesTo(id, 'waiting_for_confirmation')
    await conversation.sendConfirmationResponse(false, 'Not that.')
    await comesTo(id, 'idle')
    const [rejected] = await eventsOf(id, 'UserRejectObservation')
    assert.ok(rejected && 'rejection_reason' in rejected && rejected.rejection_reason === 'Not that.')
    await conversation.run()
    await comesTo(id, 'finished')
    await conversation.sendMessage({ role: 'user', content: [{ type: 'text', text: 'run: touch yes' }] } as never)
    await conversation.run()
    await comesTo(id, 'waiting_for_confirmation')
    await conversation.sendConfirmationResponse(true)
    await comesTo(id, 'finished')
    assert.equal((await workspace.executeCommand('ls', '/workspace/asking')).stdout, 'yes\n')
    await until('all was heard', () => heard.includes('UserRejectObservation') && heard.includes('ObservationEvent'))
    await conversation.stopWebSocketClient()
  })

  test('gives secrets, another model and a title; asks aside; forks, goes back, condenses and takes it home', async () => {
    const workspace = place('/workspace/many')
    const conversation = npm.createConversationAuto(agent(), workspace) as InstanceType<typeof npm.RemoteConversation>
    await conversation.start({ initialMessage: 'run: echo told: $MINE $OTHERS.' })
    await comesTo(conversation.id, 'finished')
    await conversation.updateSecrets({ MINE: 'hush-hush', OTHERS: () => 'quiet-quiet' })
    await conversation.switchProfile('other')
    await conversation.switchLlm(rig.model.llm() as never)
    await assert.rejects(conversation.switchAcpModel('any'), { status: 400 })
    await conversation.sendMessage('run: echo told: $MINE $OTHERS.')
    await conversation.run()
    await comesTo(conversation.id, 'finished')
    const seen = JSON.stringify(await eventsOf(conversation.id, 'ObservationEvent'))
    assert.match(seen, /told: \..*told: <secret-hidden> <secret-hidden>\./)
    await conversation.setTitle('Secrets')
    assert.equal((await client.getConversation(conversation.id)).title, 'Secrets')
    assert.match(await conversation.askAgent('How far?'), /^Aside/)
    assert.match(await conversation.getAgentFinalResponse(), /^Heard of it/)
    const stats = (await conversation.conversationStats()) as { usage_to_metrics?: object }
    assert.ok(Object.keys(stats.usage_to_metrics ?? {}).length > 0)
    assert.equal(await conversation.loadHooks(), null)
    assert.equal(await conversation.getHookConfig(), null)
    const zip = await conversation.downloadTrajectory()
    assert.equal((await zip.text()).slice(0, 2), 'PK')
    const [first] = await eventsOf(conversation.id, 'MessageEvent')
    const fork = await conversation.fork({ title: 'The other way', reset_metrics: true }, { includeSkills: false })
    assert.equal((await client.getConversation(fork.id)).title, 'The other way')
    await fork.navigateTo(first!.id)
    assert.equal((await fork.state.modelDump()).leaf_event_id, first!.id)
    await conversation.condense()
    await until('it was condensed', async () => (await eventsOf(conversation.id, 'Condensation')).length > 0)
  })

  test('pauses it, and pursues a goal that is stopped and resumed', async () => {
    const remote = { type: 'remote' as const, agent: agent(), workspace: place('/workspace/goal') }
    const conversation = npm.createConversation(remote) as InstanceType<typeof npm.RemoteConversation>
    await conversation.start()
    await conversation.sendMessage('wait')
    await conversation.run()
    await comesTo(conversation.id, 'running')
    await conversation.pause()
    await comesTo(conversation.id, 'paused')
    await conversation.startGoal('wait for it', 3)
    await comesTo(conversation.id, 'running')
    await conversation.stopGoal()
    await until('the goal is interrupted', async () => (await goalOf(conversation.id)) === 'interrupted')
    await client.interruptConversation(conversation.id)
    await comesTo(conversation.id, 'paused')
    await conversation.resumeGoal()
    await until('the goal is pursued again', async () => (await goalOf(conversation.id)) === 'running')
    await conversation.stopGoal()
  })

  test('does the same by id alone', async () => {
    const order = {
      agent: { llm: rig.model.llm(), tools: [{ name: 'terminal' }] },
      workspace: { working_dir: '/workspace/by-id' },
      autotitle: false,
      conversation_id: newId(),
    }
    const { id } = await client.createConversation(order as never)
    assert.equal(id, order.conversation_id)
    await client.setConfirmationPolicy(id, { kind: 'AlwaysConfirm' } as never)
    await client.setSecurityAnalyzer(id, null)
    await client.setSecurityAnalyzer(id, { security_analyzer: { kind: 'LLMSecurityAnalyzer' } })
    await client.updateSecrets(id, { secrets: { A: { kind: 'StaticSecret', value: 'hush' } } })
    await client.sendEvent(id, aMessage('run: touch one') as never, { run: true })
    await comesTo(id, 'waiting_for_confirmation')
    await client.respondToConfirmation(id, { accept: false })
    await comesTo(id, 'idle')
    await client.setConfirmationPolicy(id, { policy: { kind: 'NeverConfirm' } } as never)
    await client.sendEvent(id, aMessage('wait') as never, { run: false })
    await client.runConversation(id)
    await comesTo(id, 'running')
    await assert.rejects(client.runConversation(id), { status: 409 })
    await client.interruptConversation(id)
    await comesTo(id, 'paused')
    await client.sendEvent(id, aMessage('hello') as never, { run: true })
    await comesTo(id, 'finished')
    assert.equal((await client.getAgentFinalResponse(id)).response, 'Hello.')
    assert.match((await client.askAgent(id, 'What?')).response, /^Aside/)
    await client.switchProfile(id, 'other')
    await client.switchLLM(id, rig.model.llm() as never)
    await assert.rejects(client.switchAcpModel(id, 'any'), { status: 400 })
    await client.startGoal(id, { objective: 'greet', max_iterations: 2 })
    await until('the goal is reached', async () => (await goalOf(id)) === 'complete')
    await client.stopGoal(id)
    await assert.rejects(client.resumeGoal(id), { status: 400 })
    await comesTo(id, 'finished')
    await client.pauseConversation(id)
    await client.condenseConversation(id)
    const fork = await client.forkConversation(id, { tags: { way: 'other' } }, { includeSkills: true })
    const moved = await client.navigateConversation(fork.id, { event_id: null }, { includeSkills: false })
    assert.deepEqual([moved.id, moved.leaf_event_id, moved.tags?.way], [fork.id, null, 'other'])
    client.close()
  })

  test('does here all that the table says', () => assert.deepEqual(unused(called, 'conversation'), []))
})
