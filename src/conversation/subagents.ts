import { type Delegate, makeTask, type Report } from '../agent/subagent.ts'
import type { Tool } from '../agent/tool.ts'
import { wantsSubagents } from '../agent/toolbox.ts'
import type { AgentDefinition } from '../api/agent.ts'
import { fault } from '../api/errors.ts'
import type { Event, MessageEvent } from '../api/events.ts'
import type { Store } from '../store/store.ts'
import type { Control } from './control.ts'
import type { Conversations } from './conversations.ts'
import type { Journal } from './journal.ts'
import type { Order } from './order.ts'
import type { Settled } from './settled.ts'

export interface SubagentsParts {
  store: Store
  journal: Journal
  conversations: Conversations
  control: Control
  settled: Settled
}

type Definition = Pick<AgentDefinition, 'name' | 'description'> & Partial<AgentDefinition>

/** The one that is always there. */
export const GENERAL: Definition = {
  name: 'general-purpose',
  description: 'Has all tools, for anything.',
}

/** Steps a sub-agent takes unless its definition says otherwise: it has one thing to do. */
const STEPS = 100

/** Children among which one is looked for, and how far into their logs their prompt stands at most: hooks may speak first. */
const RECENT = 50
const OPENING = 20

/** Agents that others hand work to: each works in a conversation of its own, a child of theirs. */
export class Subagents {
  readonly #parts: SubagentsParts

  constructor(parts: SubagentsParts) {
    this.#parts = parts
  }

  /** The tool of one conversation. Sub-agents have none themselves: work is handed over once. */
  tools(id: string, order: Order): Tool[] {
    if (!wantsSubagents(order.agent) || order.options.subagent_of) return []
    const definitions = [GENERAL, ...order.options.agent_definitions.filter(({ name }) => name !== GENERAL.name)]
    const delegate: Delegate = async ({ kind, prompt, resume }, signal) => {
      const definition = definitions.find(({ name }) => name === kind)
      if (!definition)
        return refused(`There is no helper '${kind}'. There are: ${definitions.map(d => d.name).join(', ')}`)
      const child = resume ? await this.#resume(id, resume, prompt) : await this.#start(id, definition, prompt)
      return child === undefined
        ? refused(`There is no task '${resume}' of this conversation.`)
        : this.#report(child, signal)
    }
    return [makeTask(definitions, delegate, prompt => this.#find(id, prompt))]
  }

  async #start(parent: string, definition: Definition, prompt: string): Promise<string> {
    const view = await this.#parts.journal.view(parent)
    if (!view) throw fault('conversation_not_found', parent)
    const { confirmation_policy, security_analyzer } = view.state
    return this.#parts.conversations.startChild(
      view.record,
      ({ launched: _, ...order }) => ({
        ...order,
        agent: { ...order.agent, ...agentOf(order, definition) } as Order['agent'],
        max_iterations: definition.max_iteration_per_run ?? STEPS,
        client_tools: [],
        hook_config: definition.hooks ?? order.hook_config,
        begun: { confirmation_policy, security_analyzer, tags: { subagent: tagged(definition.name) } },
        options: { ...order.options, agent_definitions: [], autotitle: false, subagent_of: parent },
      }),
      prompt,
    )
  }

  /** The newest child that was begun with this prompt. */
  async #find(parent: string, prompt: string): Promise<string | undefined> {
    const { store } = this.#parts
    const ids = (await store.childrenOf([parent])).get(parent) ?? []
    const records = (await store.conversations(ids.slice(-RECENT))).filter(record => record !== undefined)
    for (const { id, no } of records.sort((a, b) => b.createdAt - a.createdAt)) {
      const opening = await store.readEvents({ no, from: 1, to: OPENING, limit: OPENING })
      const events = opening.filter(({ damaged }) => !damaged).map(({ json }): Event => JSON.parse(json))
      if (events.some(event => event.kind === 'MessageEvent' && saidIn(event) === prompt)) return id
    }
    return undefined
  }

  async #resume(parent: string, id: string, prompt: string): Promise<string | undefined> {
    const view = await this.#parts.journal.view(id).catch(() => undefined)
    if (view?.record.parentId !== parent) return undefined
    await this.#parts.conversations.send(id, {
      role: 'user',
      content: [{ type: 'text', text: prompt, cache_prompt: false }],
      run: true,
    })
    return id
  }

  async #report(id: string, signal: AbortSignal): Promise<Report> {
    const { control, settled } = this.#parts
    const status = await settled(id, signal).catch(async error => {
      await control.interrupt(id).catch(() => undefined)
      throw error
    })
    const text = await control.finalResponse(id)
    const done = status === 'finished'
    const why = status === 'error' ? ` (${await control.lastError(id)})` : ''
    const note = done ? '' : `\n[The helper did not finish: it is ${status}${why}. Task id: ${id}]`
    return {
      id,
      status: done ? 'completed' : status,
      text: `${text}${note}`.trim() || '[It said nothing.]',
      failed: !done,
    }
  }
}

/** What a definition leaves open is as the parent has it. */
function agentOf({ agent }: Order, definition: Definition): Partial<Order['agent']> {
  const { tools = [], system_prompt, mcp_config, condenser } = definition
  const inherited = agent.tools.filter(({ name }) => name !== 'task' && name !== 'task_tool_set')
  return {
    tools: tools.length > 0 ? tools.map(name => ({ name, params: {} })) : inherited,
    ...(system_prompt && { system_prompt }),
    ...(mcp_config && { mcp_config }),
    ...(condenser && { condenser }),
  }
}

const saidIn = ({ llm_message }: MessageEvent): string =>
  llm_message.content.map(part => (part.type === 'text' ? part.text : '')).join('')

const refused = (text: string): Report => ({ id: '', status: 'error', text, failed: true })

const tagged = (name: string): string => name.slice(0, 256)
