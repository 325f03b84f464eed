import * as z from 'zod'
import type { Tool } from './tool.ts'
import { builtIn, said, spoken } from './tools/built-in.ts'

/** An agent that another one hands work to, as the other is told of it. */
export interface Kind {
  name: string
  description: string
}

/** Does the work, in a conversation of its own. Rejects with the reason of the signal, having ended it. */
export type Delegate = (
  task: { kind: string; prompt: string; description: string | null; resume: string | null },
  signal: AbortSignal,
) => Promise<Report>

export interface Report {
  /** By which it is taken up again. */
  id: string
  status: string
  text: string
  failed: boolean
}

const DESCRIPTION = `Hands a piece of work to a helper: another agent in a conversation of its own, with the same workspace and tools. It sees nothing of this conversation, so the prompt must say everything: the goal, what is known, where to look, what to report. You get its last words, and see nothing else of what it did.
Use it for work that stands by itself: to look through much code for an answer, or to do several independent things at once (call it several times in one turn: helpers work side by side). Do small things yourself. Check what was reported before you build on it.`

const Input = spoken(() =>
  z.object({
    prompt: z.string().min(1).describe('The work, with everything the helper must know.'),
    description: z.string().nullish().describe('The work in three to five words, for people who follow.'),
    subagent_type: z.string().default('general-purpose').describe('The kind of helper.'),
    resume: z.string().nullish().describe('The id of an earlier task, to go on with it: the helper remembers it.'),
  }),
)

/** Finds the newest task that was handed over with this prompt. */
export type FindTask = (prompt: string) => Promise<string | undefined>

/** The tool for sub-agents. */
export const makeTask = (kinds: readonly Kind[], delegate: Delegate, find: FindTask): Tool => ({
  ...builtIn({
    name: 'task',
    kind: 'TaskTool',
    action: 'TaskAction',
    observation: 'TaskObservation',
    description: `${DESCRIPTION}\nKinds of helpers:\n${kinds.map(({ name, description }) => `- ${name}: ${description}`).join('\n')}`,
    input: Input,
    run: async ({ prompt, description, subagent_type: kind, resume }, { signal }) => {
      const report = await delegate({ kind, prompt, description: description ?? null, resume: resume ?? null }, signal)
      return {
        kind: 'TaskObservation',
        content: said(report.text),
        is_error: report.failed,
        task_id: report.id,
        subagent: kind,
        status: report.status,
      }
    },
  }),
  sideBySide: true,
  trace: async action => {
    const { prompt, resume } = action as { prompt: string; resume?: string | null }
    const id = resume ?? (await find(prompt))
    return id && `Its helper rests. To let it go on, call task with resume: ${id}`
  },
})
