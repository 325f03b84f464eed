import type { Kit } from '../agent/kit.ts'
import { AnyAgent } from '../api/agent.ts'
import { stateUpdate } from '../api/draft.ts'
import { fault } from '../api/errors.ts'
import type { Event } from '../api/events.ts'
import { LLM } from '../api/llm.ts'
import { MCPOAuthState } from '../api/mcp.ts'
import { SecretSource } from '../api/secrets.ts'
import { type ConfirmationPolicy, SecurityAnalyzer } from '../api/security.ts'
import { formatNaive, now } from '../lib/time.ts'
import { Turns } from '../lib/turns.ts'
import { unsupportedAnalyzers } from '../policy/risk.ts'
import { masked, type Vault } from '../policy/secrets.ts'
import type { Store } from '../store/store.ts'
import * as commands from './conversation.ts'
import { reequipped } from './equip.ts'
import type { Change, Journal } from './journal.ts'
import { type KeyCheck, type Order, ownLookup, type Skills } from './order.ts'
import type { Runner } from './runner.ts'
import type { Sessions } from './sessions.ts'

export interface ControlParts {
  store: Store
  journal: Journal
  runner: Runner
  sessions: Sessions
  vault: Vault
}

/** What can be asked of a conversation beside talking to it. */
export class Control {
  readonly #parts: ControlParts
  readonly #turns = new Turns()

  constructor(parts: ControlParts) {
    this.#parts = parts
  }

  /** Starts a run; a second call while one is going is refused. */
  run(id: string): Promise<void> {
    return this.#parts.runner.start(id)
  }

  pause(id: string): Promise<void> {
    return this.#parts.runner.pause(id)
  }

  interrupt(id: string): Promise<void> {
    return this.#parts.runner.interrupt(id)
  }

  answer(id: string, answer: commands.Answer): Promise<void> {
    return this.#parts.runner.answer(id, answer)
  }

  async setPolicy(id: string, policy: ConfirmationPolicy): Promise<void> {
    await this.#parts.journal.transact(id, ({ state }) => commands.setPolicy(state, policy))
  }

  async setAnalyzer(id: string, analyzer: SecurityAnalyzer | null): Promise<void> {
    refuseAnalyzer(analyzer)
    const shown = analyzer && masked(SecurityAnalyzer, analyzer)
    await this.#parts.journal.transact(id, ({ state }) => commands.setAnalyzer(state, shown))
  }

  /** Replaces those of the same name. */
  async addSecrets(id: string, secrets: Record<string, SecretSource>, isKey: KeyCheck): Promise<void> {
    const { vault } = this.#parts
    const sealed = Object.entries(secrets).map(([name, source]) => [
      name,
      vault.sealAll(SecretSource, ownLookup(name, source, isKey)),
    ])
    await this.#changeOrder(id, order => ({ ...order, secrets: { ...order.secrets, ...Object.fromEntries(sealed) } }))
  }

  async switchLlm(id: string, llm: LLM): Promise<void> {
    await this.useLlm(id, this.#parts.vault.sealAll(LLM, llm))
  }

  /** The same with one whose secrets are sealed. */
  async useLlm(id: string, sealed: LLM): Promise<void> {
    await this.#changeOrder(
      id,
      order => ({ ...order, agent: { ...order.agent, llm: sealed }, thinks_since: formatNaive(now()) }),
      order => ({ drafts: [stateUpdate('agent', masked(AnyAgent, order.agent))] }),
    )
  }

  /** Of the conversation, and of the sub-agents that share it. */
  /** Refresh tokens are used up by their use: what an MCP server's login came to must not be lost. */
  async keepLogin(id: string, server: string, state: MCPOAuthState): Promise<void> {
    const sealed = this.#parts.vault.sealAll(MCPOAuthState, state)
    await this.#changeOrder(id, order => {
      const config = order.agent.mcp_config[server]
      if (config?.auth?.strategy !== 'oauth2') return order
      const renewed = { ...config, auth: { ...config.auth, state: sealed } }
      return { ...order, agent: { ...order.agent, mcp_config: { ...order.agent.mcp_config, [server]: renewed } } }
    })
  }

  /** Gives it what a plugin brings, found by what it was ordered with. A run that goes on goes on without. */
  async equip(id: string, find: (order: Order) => Promise<Kit>): Promise<void> {
    const { journal, sessions, vault } = this.#parts
    const kit = await find((await this.#ordered(id)).order)
    await this.#turns.take(id, async () => {
      const before = await this.#ordered(id)
      const { order, skills } = reequipped(before.order, before.skills, kit, vault)
      await journal.transact(id, () => ({
        touches: true,
        drafts: [
          stateUpdate('agent', masked(AnyAgent, order.agent)),
          ...(kit.hook_config ? [stateUpdate('hook_config', order.hook_config)] : []),
        ],
        parts: { order: JSON.stringify(order), skills: JSON.stringify(skills) },
      }))
      await sessions.renew(id)
    })
  }

  async #ordered(id: string): Promise<{ order: Order; skills: Skills }> {
    const { store } = this.#parts
    const [record] = await store.conversations([id])
    const [parts] = record ? await store.conversationParts([record.no], ['order', 'skills']) : []
    if (!parts?.order) throw fault('conversation_not_found', id)
    return { order: JSON.parse(parts.order), skills: JSON.parse(parts.skills ?? '[]') }
  }

  async setBudget(id: string, max_budget_per_task: number): Promise<void> {
    const children = (await this.#parts.store.childrenOf([id])).get(id) ?? []
    for (const one of [id, ...children])
      await this.#changeOrder(one, order => {
        const shares = one === id || order.options.subagent_of === id
        return shares ? { ...order, options: { ...order.options, max_budget_per_task } } : order
      })
  }

  /** What the agent said when it finished, or said last; empty when it has said nothing. */
  async finalResponse(id: string): Promise<string> {
    return (await this.#latest(id, responseIn)) ?? ''
  }

  /** Why it failed last. */
  async lastError(id: string): Promise<string> {
    return (await this.#latest(id, event => (event.kind === 'ConversationErrorEvent' ? event.detail : undefined))) ?? ''
  }

  /** What the newest event says that says anything. */
  async #latest(id: string, read: (event: Event) => string | undefined): Promise<string | undefined> {
    const view = await this.#parts.journal.view(id)
    if (!view) throw fault('conversation_not_found', id)
    for (let to = view.record.head; to > 0; ) {
      const page = await this.#parts.store.readEvents({ no: view.record.no, to, limit: 100, backward: true })
      for (const { damaged, json } of page) {
        const found = damaged ? undefined : read(JSON.parse(json))
        if (found !== undefined) return found
      }
      to = (page.at(-1)?.seq ?? 1) - 1
    }
    return undefined
  }

  /** One change after the other: each is made on what the one before left. */
  #changeOrder(
    id: string,
    change: (order: Order) => Order,
    also: (order: Order) => Change = () => ({}),
  ): Promise<void> {
    return this.#turns.take(id, async () => {
      const { store, journal, sessions } = this.#parts
      const [record] = await store.conversations([id])
      const [parts] = record ? await store.conversationParts([record.no], ['order']) : []
      if (!parts?.order) throw fault('conversation_not_found', id)
      const order = change(JSON.parse(parts.order))
      await journal.transact(id, () => ({ touches: true, ...also(order), parts: { order: JSON.stringify(order) } }))
      await sessions.adopt(id, order)
    })
  }
}

export function refuseAnalyzer(analyzer: SecurityAnalyzer | null): void {
  const [refused] = unsupportedAnalyzers(analyzer)
  if (refused) throw fault('invalid_request', `The security analyzer '${refused}' is not available here`)
}

function responseIn(event: Event): string | undefined {
  if (event.kind === 'ActionEvent' && event.action?.kind === 'FinishAction')
    return (event.action as { message: string }).message
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return undefined
  return event.llm_message.content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('')
}
