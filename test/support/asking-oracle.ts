import assert from 'node:assert/strict'
import type { OpenAction, Stand } from '../../src/agent/book.ts'
import type { ActionEvent, Event } from '../../src/api/events.ts'
import type { State } from '../../src/conversation/state.ts'
import { resultsOf } from './agent.ts'
import type { Commit } from './asking.ts'

/** What somebody asked of the server, and when: `to` is missing where no answer came. */
export interface Call {
  what: 'message' | 'message+run' | 'run' | 'accept' | 'reject' | 'pause' | 'interrupt' | 'policy' | 'analyzer'
  from: number
  to?: number
  /** Of an answer: only these. */
  ids?: readonly string[]
}

export interface Story {
  events: readonly Event[]
  commits: readonly Commit[]
  calls: readonly Call[]
  /** By the mark of an action: when it was carried out. */
  done: ReadonlyMap<string, readonly number[]>
}

/** Whether P3 was kept, judged by what was asked, what is on disk and what was done: not by what the server thinks of it. */
export function judge(story: Story): void {
  const actions = story.events.filter(event => event.kind === 'ActionEvent')
  for (const action of actions) {
    const results = resultsOf(story.events, action)
    assert.equal(results.length, 1, `${results.length} results of an action: ${JSON.stringify(results)}`)
    if (action.action?.kind === 'TerminalAction') judgeAction(action, results[0]!, actions, story)
  }
  for (const commit of story.commits) judgeCommit(commit, story)
}

function judgeAction(action: ActionEvent, result: Event, actions: readonly ActionEvent[], story: Story): void {
  const runs = story.done.get(markOf(action)) ?? []
  const told = `${markOf(action)} was carried out ${runs.length} times, and its result is ${JSON.stringify(result)}`
  assert.ok(runs.length <= 1, told)
  if (result.kind === 'ObservationEvent') assert.equal(runs.length, 1, told)
  if (result.kind === 'UserRejectObservation') assert.equal(runs.length, 0, told)
  if (result.kind === 'AgentErrorEvent' && /not run/.test(result.error)) assert.equal(runs.length, 0, told)
  if (runs.length === 0) return
  const begun = story.commits.find(({ after }) => standOf(after, action.id) === 'begun')
  assert.ok(begun && begun.at < runs[0]!, `${markOf(action)} was carried out without being on record as begun`)
  const approved = story.commits.some(commit => commit.at <= begun.at && isYes(commit, action, story.calls))
  // One action that must be asked for holds all of its answer back.
  const isNew = begun.events.some(({ id }) => id === action.id)
  const together = isNew
    ? actions.filter(one => one.llm_response_id === action.llm_response_id && one.action)
    : [action]
  const free = [begun.before, begun.after].some(state => !together.some(one => demands(state, one, together.length)))
  assert.ok(approved || free, `${markOf(action)} was carried out unasked: ${JSON.stringify(begun)}`)
}

/** Whether this commit is where somebody's yes to this very action is put on record. */
function isYes({ at, before, after, events }: Commit, action: ActionEvent, calls: readonly Call[]): boolean {
  // The question and the answer may have become durable together.
  const asked = standOf(before, action.id) === 'asked' || events.some(isStatus('waiting_for_confirmation'))
  if (!asked || standOf(after, action.id) === 'asked') return false
  const heard = before.meanwhile !== null && !events.some(({ kind }) => kind === 'MessageEvent')
  return calls.some(({ what, from, to = Number.POSITIVE_INFINITY, ids }) => {
    if (from > at || to < at) return false
    return what === 'run' ? !heard : what === 'accept' && (ids?.includes(action.id) ?? true)
  })
}

/** No approval and no run comes from nowhere, and nothing begins while it is not running. */
function judgeCommit(commit: Commit, { calls }: Story): void {
  const { at, before, after, events } = commit
  const during = calls.filter(({ from, to = Number.POSITIVE_INFINITY }) => from < at && at < to)
  for (const one of after.open) {
    const was = standOf(before, one.id)
    if (one.stand === 'approved' && was !== 'approved')
      assert.ok(
        during.some(({ what }) => what === 'accept' || what === 'run'),
        `approved by nobody: ${text(commit)}`,
      )
    if (one.stand === 'begun' && was !== undefined && was !== 'begun') {
      const ran = before.execution_status === 'running' || events.some(isStatus('running'))
      assert.ok(ran, `begun while ${before.execution_status}: ${text(commit)}`)
    }
    if (was === 'rejected') assert.equal(one.stand, 'rejected', `a rejection was forgotten: ${text(commit)}`)
  }
  const wakes: Call['what'][] = ['message+run', 'run', 'accept', 'reject']
  if (before.execution_status !== 'running' && events.some(isStatus('running')))
    assert.ok(
      during.some(({ what }) => wakes.includes(what)),
      `woken by nobody: ${text(commit)}`,
    )
}

const text = (commit: Commit): string => JSON.stringify(commit)

const isStatus = (status: string) => (event: Event) =>
  event.kind === 'ConversationStateUpdateEvent' && event.key === 'execution_status' && event.value === status

export const markOf = ({ action }: ActionEvent): string => (action as { command: string }).command

export const standOf = ({ open }: State, id: string): Stand | undefined =>
  open.find((one: OpenAction) => one.id === id)?.stand

/** What a policy says of one action, in the contract's words. */
function demands({ confirmation_policy: policy, security_analyzer: judge }: State, action: ActionEvent, of: number) {
  const kind = action.action?.kind
  if (of === 1 && (kind === 'FinishAction' || kind === 'ThinkAction')) return false
  if (policy.kind !== 'ConfirmRisky') return policy.kind === 'AlwaysConfirm'
  const risk = judge ? action.security_risk : 'UNKNOWN'
  if (risk === 'UNKNOWN') return policy.confirm_unknown
  const order = ['LOW', 'MEDIUM', 'HIGH']
  return order.indexOf(risk) >= order.indexOf(policy.threshold)
}
