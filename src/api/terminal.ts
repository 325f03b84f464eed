import * as z from 'zod'

/** Of a paste in one frame, in characters: a larger one comes in several. */
const INPUT_CHARACTERS = 64 * 1024

/** Wider or higher than any screen, and within what the kernel counts in. */
const side = z.int().min(1).max(1000)

export const TerminalSize = z.object({ columns: side, rows: side })

/** What a client says to a terminal. */
export const TerminalRequest = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('input'), data: z.string().max(INPUT_CHARACTERS) }),
    z.object({ type: z.literal('resize'), ...TerminalSize.shape }),
  ])
  .meta({ id: 'TerminalRequest' })
export type TerminalRequest = z.output<typeof TerminalRequest>

/** What a terminal says: `exit` is the last, and `error` is about a frame that was not taken. */
export const TerminalFrame = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('output'), data: z.string() }),
    z.object({ type: z.literal('exit'), code: z.int() }),
    z.object({ type: z.literal('error'), code: z.string(), detail: z.string() }),
  ])
  .meta({ id: 'TerminalFrame' })
export type TerminalFrame = z.output<typeof TerminalFrame>
