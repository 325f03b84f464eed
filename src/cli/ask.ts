import type { ActionEvent } from '../api/events.ts'
import { details } from './events.ts'
import type { Prompt } from './prompt.ts'
import type { Screen } from './screen.ts'
import { indented, safe } from './text.ts'
import type { Answer } from './work.ts'

/** Shows what would be done, in full, and asks whether it may. */
export async function askFor(
  screen: Screen,
  prompt: Prompt,
  action: ActionEvent,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const { style } = screen
  const { security_risk: risk, summary } = action
  const about = [summary && safe(summary), risk === 'UNKNOWN' ? undefined : `${risk.toLowerCase()} risk`].filter(
    Boolean,
  )
  screen.line(
    style.yellow(style.bold('The agent asks before it acts') + (about.length > 0 ? ` (${about.join(', ')})` : '')),
  )
  screen.line(indented(details(action), '  '))
  for (;;) {
    const line = await prompt.ask(style.bold('Allow it? y, n, or n and why: '), signal)
    const answer = line === undefined ? undefined : read(line)
    if (line === undefined || answer) return answer
  }
}

/** Only a clear yes is one, and only a clear no. */
function read(line: string): Answer | undefined {
  if (/^\s*y(es)?\s*$/i.test(line)) return { accept: true }
  const no = /^\s*no?(?:[\s,:]+(.*))?$/i.exec(line)
  const reason = no?.[1]?.trim()
  return no ? { accept: false, ...(reason && { reason }) } : undefined
}
