import * as z from 'zod'
import { stateUpdate } from '../api/draft.ts'
import { fault } from '../api/errors.ts'
import type { Log } from '../lib/log.ts'
import type { Store } from '../store/store.ts'
import type { Asides } from './asides.ts'
import type { Control } from './control.ts'
import type { Conversations } from './conversations.ts'
import type { Journal } from './journal.ts'
import type { Order } from './order.ts'
import type { Settled } from './settled.ts'

const Verdict = z.object({
  score: z.number().min(0).max(1),
  complete: z.boolean(),
  missing: z.string().default(''),
})

interface Goal {
  active: boolean
  status: 'running' | 'complete' | 'capped' | 'interrupted'
  iteration: number
  max_iterations: number
  objective: string
  verdict: z.output<typeof Verdict> | null
}

export interface GoalsParts {
  store: Store
  journal: Journal
  conversations: Conversations
  control: Control
  asides: Asides
  settled: Settled
  log: Log
}

/** Of what the agent said last, what a judge is shown. */
const SHOWN = 20_000

const JUDGE = `You judge whether an agent has reached an objective. Be strict: what is not shown to be done counts as missing. Answer with JSON alone: {"score": 0 to 1, "complete": true or false, "missing": "what is still to be done, in a sentence or two"}`

/** Has an agent work on an objective, round after round, until a judge finds it reached. */
export class Goals {
  readonly #parts: GoalsParts
  readonly #going = new Map<string, { stop: AbortController; done: Promise<void> }>()

  constructor(parts: GoalsParts) {
    this.#parts = parts
  }

  async start(id: string, objective: string, max_iterations: number): Promise<void> {
    if (objective.trim() === '') throw fault('bad_request', 'The objective is empty')
    await this.#begin(id, { active: true, status: 'running', iteration: 0, max_iterations, objective, verdict: null })
  }

  /** Goes on with the goal that was interrupted last. */
  async resume(id: string): Promise<void> {
    const goal = await this.#last(id)
    if (goal?.status !== 'interrupted') throw fault('bad_request', 'no_resumable_goal')
    await this.#begin(id, { ...goal, active: true, status: 'running' })
  }

  /** A person has something else in mind. */
  async stop(id: string): Promise<void> {
    const going = this.#going.get(id)
    if (!going) return
    going.stop.abort(new DOMException('The goal was given up', 'AbortError'))
    await going.done
  }

  async close(): Promise<void> {
    await Promise.all([...this.#going.keys()].map(id => this.stop(id)))
  }

  async #begin(id: string, goal: Goal): Promise<void> {
    const view = await this.#parts.journal.view(id)
    if (!view) throw fault('conversation_not_found', id)
    if (view.state.execution_status === 'running' || this.#going.has(id)) throw fault('conversation_running')
    const stop = new AbortController()
    const going = { stop, done: Promise.resolve() }
    this.#going.set(id, going)
    await this.#tell(id, goal)
    going.done = this.#pursue(id, goal, stop.signal).finally(() => this.#going.delete(id))
  }

  async #pursue(id: string, begun: Goal, signal: AbortSignal): Promise<void> {
    let goal = begun
    try {
      while (goal.status === 'running') {
        goal = await this.#round(id, goal, signal)
        await this.#tell(id, goal)
      }
    } catch (error) {
      if (!signal.aborted) this.#parts.log.warn('goal', { conversation: id, error: String(error) })
      await this.#tell(id, { ...goal, active: false, status: 'interrupted' }).catch(() => undefined)
    }
  }

  async #round(id: string, goal: Goal, signal: AbortSignal): Promise<Goal> {
    const { conversations, settled } = this.#parts
    const missing = goal.verdict?.missing
    const text = missing ? `${goal.objective}\n\nNot reached yet. Still missing: ${missing}` : goal.objective
    const content = [{ type: 'text' as const, text, cache_prompt: false }]
    await conversations.send(id, { role: 'user', content, run: true }, { by: 'goal' })
    const status = await settled(id, signal)
    if (status !== 'finished' && status !== 'stuck') throw new Error(`the conversation is ${status}`)
    const verdict = await this.#judge(id, goal.objective, signal)
    const iteration = goal.iteration + 1
    if (verdict.complete) return { ...goal, iteration, verdict, active: false, status: 'complete' }
    if (iteration >= goal.max_iterations) return { ...goal, iteration, verdict, active: false, status: 'capped' }
    return { ...goal, iteration, verdict }
  }

  async #judge(id: string, objective: string, signal: AbortSignal): Promise<z.output<typeof Verdict>> {
    const { asides, control, store } = this.#parts
    const [record] = await store.conversations([id])
    const [parts] = record ? await store.conversationParts([record.no], ['order']) : []
    if (!parts?.order) throw fault('conversation_not_found', id)
    const order: Order = JSON.parse(parts.order)
    const report = (await control.finalResponse(id)).slice(-SHOWN)
    const prompt = `Objective:\n${objective}\n\nWhat the agent says it did:\n${report || '(nothing)'}`
    const said = await asides.ask(id, order, { usage: 'goal-judge', system: JUDGE, prompt }, signal)
    const json = /\{[\s\S]*\}/.exec(said)?.[0]
    const unclear = { score: 0, complete: false, missing: 'The judge gave no clear answer.' }
    try {
      return Verdict.safeParse(JSON.parse(json ?? '')).data ?? unclear
    } catch {
      return unclear
    }
  }

  async #tell(id: string, goal: Goal): Promise<void> {
    const change = { drafts: [stateUpdate('goal', goal)], parts: { goal: JSON.stringify(goal) } }
    await this.#parts.journal.transact(id, () => change)
  }

  async #last(id: string): Promise<Goal | undefined> {
    const { store } = this.#parts
    const [record] = await store.conversations([id])
    if (!record) throw fault('conversation_not_found', id)
    const [parts] = await store.conversationParts([record.no], ['goal'])
    const goal: Goal | undefined = parts?.goal && JSON.parse(parts.goal)
    // One that was going when the server died was interrupted by that.
    return goal?.active && !this.#going.has(id) ? { ...goal, active: false, status: 'interrupted' } : goal
  }
}
