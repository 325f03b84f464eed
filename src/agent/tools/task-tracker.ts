import * as z from 'zod'
import type { TaskItem } from '../../api/actions.ts'
import type { Tool } from '../tool.ts'
import { builtIn, said, spoken } from './built-in.ts'

const DESCRIPTION = `Keeps the list of tasks for work of several steps, which the user sees too.
- plan: replaces the whole list. Always give all tasks, also those that are done.
- view: shows the list.
Make a plan before work of three steps or more, and keep it true: one task in_progress at a time, each done as soon as it is done. Simple requests need no list.`

/** More is no plan any more, and would not fit an event, where all of it stands twice. */
const TASKS = 100
const TITLE_CHARACTERS = 200
const NOTES_CHARACTERS = 500

const Input = spoken(() =>
  z.object({
    command: z.enum(['view', 'plan']).default('view').describe('Whether to show the list or to replace it.'),
    task_list: z
      .array(
        z.object({
          title: z.string().max(TITLE_CHARACTERS).describe('What is to be done, in a few words.'),
          notes: z.string().max(NOTES_CHARACTERS).default('').describe('What else is worth knowing about it.'),
          status: z.enum(['todo', 'in_progress', 'done']).default('todo').describe('How far it is.'),
        }),
      )
      .max(TASKS)
      .default([])
      .describe('For `plan`: all tasks, in order.'),
  }),
)

export function makeTaskTracker(): Tool {
  let kept: readonly TaskItem[] = []
  return builtIn({
    name: 'task_tracker',
    kind: 'TaskTrackerTool',
    action: 'TaskTrackerAction',
    observation: 'TaskTrackerObservation',
    description: DESCRIPTION,
    input: Input,
    annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: async ({ command, task_list }) => {
      if (command === 'plan') kept = task_list
      return {
        kind: 'TaskTrackerObservation',
        content: said(kept.length === 0 ? 'The list of tasks is empty.' : kept.map(line).join('\n')),
        is_error: false,
        command,
        task_list: [...kept],
      }
    },
    recall: observations => {
      kept = observations.at(-1)?.task_list ?? kept
    },
  })
}

const MARKS = { todo: '[ ]', in_progress: '[~]', done: '[x]' } as const

const line = ({ title, notes, status }: TaskItem, index: number): string =>
  `${index + 1}. ${MARKS[status]} ${title}${notes ? `\n   ${notes}` : ''}`
