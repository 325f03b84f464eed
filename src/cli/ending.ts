import type { Client } from '../api/client.ts'
import { details } from './events.ts'
import { pendingActions } from './pending.ts'
import type { Screen } from './screen.ts'
import { indented } from './text.ts'
import type { Ending } from './work.ts'

/** Enough of an id to be typed. */
export const short = (id: string): string => id.slice(0, 8)

/** How it ended, and what can be done now; nothing where the agent's own words say it all. */
export async function tellEnding(client: Client, screen: Screen, conversation: string, ending: Ending): Promise<void> {
  const { style } = screen
  const id = short(conversation)
  const goOn = `go on with: gantry run --resume ${id} "…"`
  if (ending.status === 'waiting_for_confirmation') {
    screen.line(style.yellow('The agent asks before it acts:'))
    for (const action of await pendingActions(client, conversation)) {
      screen.line(style.dim(`  ${short(action.id)}`))
      screen.line(indented(details(action), '  '))
    }
    screen.line(style.yellow(`Answer with: gantry approve ${id}, or: gantry reject ${id} --reason "…"`))
  } else if (ending.isInterrupted || ending.status === 'paused') screen.line(style.yellow(`Interrupted; ${goOn}`))
  else if (ending.status === 'stuck') screen.line(style.yellow(`The agent is stuck; ${goOn}`))
  else if (ending.status === 'error') screen.line(style.yellow(`It ended with an error; ${goOn}`))
  else if (ending.status === 'idle') screen.line(style.yellow(`It was told no and rests; ${goOn}`))
}

/** What it has cost so far. */
export async function costOf(client: Client, conversation_id: string): Promise<string> {
  const { stats } = await client.getConversation({ params: { conversation_id } })
  const all = Object.values(stats.usage_to_metrics)
  const sum = (of: (one: (typeof all)[number]) => number | undefined) =>
    all.reduce((total, one) => total + (of(one) ?? 0), 0)
  const dollars = sum(one => one.accumulated_cost).toFixed(4)
  const read = sum(one => one.accumulated_token_usage?.prompt_tokens)
  const written = sum(one => one.accumulated_token_usage?.completion_tokens)
  return `$${dollars}, ${count(read)} tokens in, ${count(written)} out`
}

const count = (n: number): string => (n < 10_000 ? String(n) : `${(n / 1000).toFixed(1)}k`)
