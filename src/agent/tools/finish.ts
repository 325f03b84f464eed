import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { builtIn, said, spoken } from './built-in.ts'

const DESCRIPTION = `Ends the work on what was asked, with a last message to the user.
Call it when everything asked for is done and checked, or when nothing more can be done without the user. Say what was done, what was not, and what the user should know or decide. Call no other tool beside it.`

const Input = spoken(() => z.object({ message: z.string().describe('The last message, as the user will read it.') }))

export const makeFinish = (): Tool =>
  builtIn({
    name: 'finish',
    kind: 'FinishTool',
    action: 'FinishAction',
    observation: 'FinishObservation',
    description: DESCRIPTION,
    input: Input,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: async ({ message }) => ({ kind: 'FinishObservation', content: said(message), is_error: false }),
  })
