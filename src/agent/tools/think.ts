import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { builtIn, said, spoken } from './built-in.ts'

const DESCRIPTION = `Writes a thought down. It changes nothing and finds nothing out.
Use it to weigh several ways of doing something, to reason about the cause of a failure, or to note what was learned before going on.`

const Input = spoken(() => z.object({ thought: z.string().describe('The thought.') }))

export const makeThink = (): Tool =>
  builtIn({
    name: 'think',
    kind: 'ThinkTool',
    action: 'ThinkAction',
    observation: 'ThinkObservation',
    description: DESCRIPTION,
    input: Input,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: async () => ({ kind: 'ThinkObservation', content: said('The thought was noted.'), is_error: false }),
  })
