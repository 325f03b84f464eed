import type { Message } from '../../../api/common.ts'
import type { ModelRequest } from '../../model.ts'
import { DEFAULT, FAREWELL, NO_TERMINAL, topicOf } from './words.ts'

/** The steps of the tour. The ids of its calls begin with them, which is how it knows where it is. */
const STEPS = ['look', 'write', 'run', 'remove'] as const
type Step = (typeof STEPS)[number]

export interface Answer {
  text: string
  call?: { step: Step; tool: string; args: Record<string, unknown> }
}

/** What the script says to this, and what it does. */
export function answerTo({ messages, tools }: ModelRequest): Answer {
  const has = new Set(tools.map(({ name }) => name))
  const tour = tourIn(messages)
  const last = messages.at(-1)
  const wish = last?.role === 'user' ? textOf(last) : ''
  if (last?.role === 'user') {
    const topic = topicOf(wish)
    if (topic !== undefined && messages.some(({ role }) => role === 'assistant')) return { text: topic }
    if (!tour || /\btour\b/i.test(wish)) return begun(has)
    if (tour.isOver) return { text: DEFAULT }
  }
  return tour && !tour.isOver ? next(tour, has) : { text: FAREWELL }
}

interface Tour {
  step: Step
  /** What came of each step; undefined while there is nothing. */
  results: Partial<Record<Step, string>>
  /** The guide has said farewell, or has been asked about something else. */
  isOver: boolean
}

/** The latest tour; undefined when there was none. */
function tourIn(messages: readonly Message[]): Tour | undefined {
  let tour: Tour | undefined
  const calls = new Map<string, Step>()
  for (const message of messages) {
    const made = message.role === 'assistant' ? (message.tool_calls ?? []) : []
    for (const { id } of made) {
      const step = STEPS.find(one => id.startsWith(`demo_${one}_`))
      if (!step) continue
      calls.set(id, step)
      tour = { step, results: step === 'look' ? {} : (tour?.results ?? {}), isOver: false }
    }
    if (message.role === 'assistant' && made.length === 0 && tour) tour.isOver = true
    const answered = message.role === 'tool' ? calls.get(message.tool_call_id ?? '') : undefined
    if (answered && tour) tour.results[answered] = textOf(message)
  }
  return tour
}

/** The names that matter stand first: a long listing is cut. */
const LOOK = 'pwd; ls -1d gantry-demo* 2>/dev/null; ls -A | head -n 30'

const HELLO = `Hello! I am the built-in guide of this server: a script, not a language model. I cannot do what you ask, but I can show you how an agent works here, for real: every step below happens in your sandbox.`

function begun(has: ReadonlySet<string>): Answer {
  if (has.has('terminal'))
    return {
      text: `${HELLO}\n\nFirst I look at the folder we are in.`,
      call: call('look', 'terminal', { command: LOOK }, 'LOW', 'Look at the folder'),
    }
  if (has.has('file_editor'))
    return {
      text: `${HELLO}\n\nFirst I look around.`,
      call: call('look', 'file_editor', { command: 'view', path: '/' }, 'LOW', 'Look at the file system'),
    }
  return { text: `${HELLO}\n\n${NO_TERMINAL}\n\n${FAREWELL}` }
}

function next({ step, results }: Tour, has: ReadonlySet<string>): Answer {
  const result = results[step]
  if (step === 'remove') return { text: `${outcome(result)}\n\n${FAREWELL}` }
  if (!has.has('terminal')) return { text: `${NO_TERMINAL}\n\n${FAREWELL}` }
  if (results.look === undefined || result === undefined) return { text: `${LOST}\n\n${FAREWELL}` }
  if (isRejected(result)) return { text: `You said no to that step, so I did not take it.\n\n${FAREWELL}` }
  const folder = folderAfter(results.look)
  if (!folder || (step === 'run' && !RAN.test(result)))
    return { text: `That did not work, so I end the tour here:\n\n${quoted(result)}\n\n${FAREWELL}` }
  if (step === 'look') return written(folder, has)
  if (step === 'write')
    return {
      text: 'Now I run it in the terminal.',
      call: call('run', 'terminal', { command: `sh ${folder.name}/hello.sh` }, 'LOW', 'Run the program'),
    }
  return {
    text: `It says:\n\n${quoted(result)}\n\nLast I clean up. Deleting is risky, so I mark the next step as such: if this conversation asks before risky steps, it asks you now, and nothing happens before you answer.`,
    call: call(
      'remove',
      'terminal',
      { command: `rm -r ${folder.name} && echo deleted` },
      'HIGH',
      'Delete the folder of the demo',
    ),
  }
}

const LOST = 'I can no longer see what the earlier steps of the tour gave, so I end it here.'

const PROGRAM = `#!/bin/sh
echo "Hello from the Gantry demo! This is $(uname -s), and it is $(date)."
`
/** Nothing is deleted before the program was seen to run in its folder: another one of that name may be somebody's. */
const RAN = /Hello from the Gantry demo!/

function written({ path, name }: Folder, has: ReadonlySet<string>): Answer {
  const text = `I see where we are. Now I write a small program into a new folder, ${name}.`
  if (has.has('file_editor')) {
    const args = { command: 'create', path: `${path}/hello.sh`, file_text: PROGRAM }
    return { text, call: call('write', 'file_editor', args, 'LOW', 'Write a small program') }
  }
  const command = `mkdir ${name} && cat > ${name}/hello.sh <<'END'\n${PROGRAM}END`
  return { text, call: call('write', 'terminal', { command }, 'LOW', 'Write a small program') }
}

interface Folder {
  name: string
  /** Absolute. */
  path: string
}

/** A folder whose name is not taken yet; undefined when the listing does not say where we are. */
function folderAfter(listing: string): Folder | undefined {
  const here = /^\/.*/m.exec(listing)?.[0].trim()
  if (here === undefined) return undefined
  const taken = new Set(listing.split(/[\s/]+/))
  let name = 'gantry-demo'
  for (let i = 2; taken.has(name); i++) name = `gantry-demo-${i}`
  return { name, path: here === '/' ? `/${name}` : `${here}/${name}` }
}

function outcome(result = ''): string {
  if (isRejected(result))
    return 'You said no, so the folder is still there. That is how a rejected step ends: nothing happens.'
  return /\bdeleted\b/.test(result)
    ? 'The folder is gone again. Either you allowed it, or this conversation does not ask before risky steps.'
    : `I cannot tell whether the folder is gone:\n\n${quoted(result)}`
}

const isRejected = (result: string): boolean => /\breject/i.test(result)

const quoted = (text: string): string =>
  text
    .slice(0, 500)
    .split('\n')
    .map(line => `> ${line}`)
    .join('\n')
    .toWellFormed()

const call = (step: Step, tool: string, args: object, security_risk: 'LOW' | 'HIGH', summary: string) => ({
  step,
  tool,
  args: { ...args, security_risk, summary },
})

const textOf = ({ content }: Message): string => content.map(part => (part.type === 'text' ? part.text : '')).join('\n')
