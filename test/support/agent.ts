import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { type ActionEvent, Event } from '../../src/api/events.ts'
import { fail, ModelServer, type Script, type Seen, type Turn } from './model-server.ts'
import { endSandboxes } from './sandboxes.ts'
import { type ServerOptions, TestServer, tempFolder } from './server.ts'
import { TestSocket } from './socket.ts'
import { until } from './wait.ts'

export interface RigOptions extends ServerOptions {
  /** Only so many of the last questions are remembered: all, unless said. */
  keep?: number
}

/** A server, and a scripted model that its agents think with. */
export class AgentRig implements AsyncDisposable {
  readonly model: ModelServer
  server: TestServer
  readonly #options: ServerOptions
  readonly #data: string
  readonly #scripts: Scripts

  private constructor(parts: {
    server: TestServer
    model: ModelServer
    options: ServerOptions
    data: string
    scripts: Scripts
  }) {
    this.server = parts.server
    this.model = parts.model
    this.#options = parts.options
    this.#data = parts.data
    this.#scripts = parts.scripts
  }

  /** The script is for conversations that bring none of their own. */
  static async start(script: Script = [], { keep, ...options }: RigOptions = {}): Promise<AgentRig> {
    const scripts = new Scripts(script)
    const data = await tempFolder()
    const [server, model] = await Promise.all([
      TestServer.start({ ...options, data }),
      ModelServer.start((seen, n) => scripts.turn(seen, n), keep === undefined ? {} : { keep }),
    ])
    return new AgentRig({ server, model, options, data, scripts })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop('SIGKILL')
    await this.model.close()
    await endSandboxes(this.#data)
    await rm(this.#data, { recursive: true, force: true })
  }

  /** What the model of the next conversation with a script is called: for others who shall follow that script too. */
  get nextModel(): string {
    return `openai/${this.#scripts.next}`
  }

  /** The same data in a new process, after this one ended or died. */
  async restart(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.server.stop(signal)
    this.server = await TestServer.start({ ...this.#options, data: this.#data })
  }

  /** Starts a conversation with the usual tools; with `say` it works on that at once. */
  async begin({ say, agent = {}, script, llm = {}, ...more }: Order = {}): Promise<Talk> {
    const model = script ? { model: `openai/${this.#scripts.add(script)}` } : {}
    const { body, status } = await this.call('POST', '/api/conversations', {
      agent: { llm: this.model.llm({ ...model, ...llm }), tools: TOOLS, ...agent },
      workspace: { working_dir: `/workspace/${randomUUID()}` },
      autotitle: false,
      ...(say !== undefined && { initial_message: { content: [{ type: 'text', text: say }] } }),
      ...more,
    })
    if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`)
    const name = body.agent.llm.model.slice('openai/'.length)
    return new Talk(this, body.id, name)
  }

  /** Any call, with the key. */
  async call(method: string, path: string, body?: unknown) {
    const answer = await fetch(this.server.url + path, {
      method,
      headers: { 'x-session-api-key': this.server.key, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they please
    const parsed: any = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text
    return { status: answer.status, body: parsed }
  }
}

interface Order extends Record<string, unknown> {
  say?: string
  agent?: Record<string, unknown>
  /** What its model says, whatever those of others say. */
  script?: Script
  /** Of its model. */
  llm?: Record<string, unknown>
}

/** Tells by the name of a model whose script it follows. */
class Scripts {
  readonly #others: Script
  readonly #own = new Map<string, { script: Script; count: number }>()

  constructor(others: Script) {
    this.#others = others
  }

  get next(): string {
    return `scripted-${this.#own.size}`
  }

  /** The name of a model that follows this one. */
  add(script: Script): string {
    const name = this.next
    this.#own.set(name, { script, count: 0 })
    return name
  }

  turn(seen: Seen, n: number): Turn | Promise<Turn> {
    const own = this.#own.get(seen.model)
    if (!own) return turnOf(this.#others, seen, n)
    return turnOf(own.script, seen, own.count++)
  }
}

function turnOf(script: Script, seen: Seen, n: number): Turn | Promise<Turn> {
  const turn = typeof script === 'function' ? script(seen, n) : script[n]
  return turn ?? fail('internal', { errorBody: `script exhausted: question ${n + 1} has no turn` })
}

const TOOLS = ['terminal', 'file_editor', 'task_tracker'].map(name => ({ name }))

/** One conversation. */
export class Talk {
  readonly id: string
  readonly #rig: AgentRig

  readonly #model: string

  /** `model` is what its model is called, where that is of interest. */
  constructor(rig: AgentRig, id: string, model = '') {
    this.#rig = rig
    this.id = id
    this.#model = model
  }

  /** Waits until its model was asked so often. */
  async asks(times: number): Promise<void> {
    await until(`its model was asked ${times} times`, () => this.asked >= times)
  }

  /** How often its model was asked. */
  get asked(): number {
    return this.questions.length
  }

  /** What its model was asked. */
  get questions(): Seen[] {
    return this.#rig.model.requests.filter(({ model }) => model === this.#model)
  }

  /** Waits until this stands in its log so often. */
  async shows(what: string, times = 1): Promise<void> {
    const shown = async () => (await this.notation()).filter(one => one === what).length >= times
    await until(`${what} is in the log ${times} times`, shown)
  }

  async post(path: string, body: unknown = {}): Promise<number> {
    return (await this.#rig.call('POST', `/api/conversations/${this.id}/${path}`, body)).status
  }

  policy(policy: object): Promise<number> {
    return this.post('confirmation_policy', { policy })
  }

  analyzer(security_analyzer: object | null): Promise<number> {
    return this.post('security_analyzer', { security_analyzer })
  }

  /** Hears what happens from now on, a snapshot first. */
  async listen(): Promise<TestSocket> {
    const { url, key } = this.#rig.server
    const socket = new TestSocket(url, `/sockets/events/${this.id}`, { 'x-session-api-key': key })
    await socket.opened()
    await socket.frame('the first snapshot', isSnapshot)
    return socket
  }

  say(text: string, run = true): Promise<number> {
    return this.post('events', { content: [{ type: 'text', text }], run })
  }

  answer(accept: boolean, more: object = {}): Promise<number> {
    return this.post('events/respond_to_confirmation', { accept, ...more })
  }

  /** What a command prints in its folder, as a person would type it there. */
  async shell(command: string): Promise<string> {
    const { workspace } = await this.info()
    const order = { command, cwd: workspace.working_dir }
    return (await this.#rig.call('POST', '/api/bash/execute_bash_command', order)).body.stdout ?? ''
  }

  /** Whether a file is there. */
  async has(file: string): Promise<boolean> {
    return (await this.shell(`test -e ${file} && echo yes`)).includes('yes')
  }

  /** Waits until a `held` command runs. */
  async begins(name: string): Promise<void> {
    await until(`${name} is begun`, () => this.has(`${name}.begun`))
  }

  /** Lets a `held` command end. */
  async letGo(name: string): Promise<void> {
    await this.shell(`touch ${name}.go`)
  }

  async info() {
    return (await this.#rig.call('GET', `/api/conversations/${this.id}`)).body
  }

  async status(): Promise<string> {
    return (await this.info()).execution_status
  }

  /** Waits until it is in one of these. */
  async comesTo(...statuses: string[]): Promise<string> {
    let last = ''
    try {
      return await until(`the conversation is ${statuses.join(' or ')}`, async () => {
        last = await this.status()
        return statuses.includes(last) ? last : undefined
      })
    } catch (error) {
      throw new Error(`It is ${last}: ${JSON.stringify(await this.notation())}`, { cause: error })
    }
  }

  async events(): Promise<Event[]> {
    const events: Event[] = []
    let page = ''
    do {
      const { body } = await this.#rig.call('GET', `/api/conversations/${this.id}/events/search?limit=100${page}`)
      events.push(...body.items)
      page = body.next_page_id ? `&page_id=${body.next_page_id}` : ''
    } while (page)
    return events
  }

  /** All of them as strict as their readers are. */
  async checkedEvents(): Promise<Event[]> {
    const events = await this.events()
    for (const event of events) assertStrict(event)
    return events
  }

  /** Those that wait for a result, by the log. */
  async pending(): Promise<ActionEvent[]> {
    const events = await this.events()
    return events.filter(
      event => event.kind === 'ActionEvent' && resultsOf(events, event).length === 0,
    ) as ActionEvent[]
  }

  /** The log in a word or two an event. State updates start with `S`; `stats` are left out, for where they stand is open. */
  async notation(): Promise<string[]> {
    return (await this.checkedEvents()).flatMap(event => notationOf(event))
  }
}

/** An answer that calls the terminal with each of these. */
export const sh = (...commands: string[]): Turn & { calls: { name: string; arguments: object }[] } => ({
  calls: commands.map(command => ({ name: 'terminal', arguments: { command } })),
})

/** A command that goes on until it is let go. */
export const held = (name: string): string => `touch ${name}.begun; until [ -e ${name}.go ]; do sleep 0.02; done`

/** Readers refuse what they do not know: nothing may be there that the schema does not name. */
export function assertStrict(event: Event): void {
  const known = Event.parse(event)
  assert.deepEqual(known, event, `more than the schema knows in ${event.kind}`)
}

// biome-ignore lint/suspicious/noExplicitAny: frames are whatever the server says
export const isSnapshot = (frame: any): boolean =>
  frame.kind === 'ConversationStateUpdateEvent' && frame.key === 'full_state'

/** The events that answer an action. */
export const resultsOf = (events: readonly Event[], action: ActionEvent): Event[] =>
  events.filter(event => {
    if (event.kind === 'ObservationEvent' || event.kind === 'UserRejectObservation')
      return event.action_id === action.id
    return event.kind === 'AgentErrorEvent' && event.tool_call_id === action.tool_call_id
  })

export function notationOf(event: Event): string[] {
  switch (event.kind) {
    case 'ConversationStateUpdateEvent':
      if (event.key === 'stats') return []
      if (event.key === 'full_state') return ['snapshot']
      return [event.key === 'execution_status' ? `S ${event.value}` : `S ${event.key}`]
    case 'MessageEvent':
      return [`Message ${event.source}`]
    case 'ActionEvent':
      return [event.action ? `Action ${event.tool_name}` : `Action ${event.tool_name}?`]
    case 'ObservationEvent':
      return [`Observation ${event.tool_name}`]
    case 'UserRejectObservation':
      return [`Reject ${event.rejection_source}`]
    case 'AgentErrorEvent':
      return [`Error ${event.tool_name}`]
    case 'HookExecutionEvent':
      return [`HookExecution ${event.hook_event_type}`]
    case 'ConversationErrorEvent':
      return [`ConversationError ${event.code}`]
    default:
      return [event.kind]
  }
}
