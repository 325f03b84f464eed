import * as z from 'zod'
import { dateTimeOut, orNull, page } from './common.ts'

/** The kernel takes no longer word, and a command is one. In bytes. */
const COMMAND_BYTES = 128 * 1024 - 1
/** The longest that a timer can wait: 24 days. In seconds. */
const TIMEOUT_SECONDS = 2_000_000

/** The kernel cannot be told of a NUL. */
const word = z.string().refine(text => !text.includes('\0'), 'A command cannot hold a NUL character')

const fits = (text: string): boolean => new TextEncoder().encode(text).length <= COMMAND_BYTES

const command = word.refine(fits, `A command is at most ${COMMAND_BYTES} bytes`)

export const ExecuteBashRequest = z
  .object({
    command: command.meta({ description: 'What `/bin/sh -c` is given' }),
    cwd: orNull(word).meta({ description: 'Where it runs; relative to the working directory, which it is without' }),
    timeout: z
      .int()
      .min(0)
      .max(TIMEOUT_SECONDS)
      .default(300)
      .meta({ description: 'In seconds: after it the command is ended, with exit code -1' }),
  })
  .meta({ id: 'ExecuteBashRequest' })
export type ExecuteBashRequest = z.output<typeof ExecuteBashRequest>

/** 32 hex digits. */
const id = z.string()

export const BashCommand = z
  .object({
    id,
    timestamp: dateTimeOut,
    command: z.string(),
    cwd: z.string().nullable(),
    timeout: z.int(),
    kind: z.literal('BashCommand'),
  })
  .meta({ id: 'BashCommand' })
export type BashCommand = z.output<typeof BashCommand>

export const BashOutput = z
  .object({
    id,
    timestamp: dateTimeOut,
    command_id: z.string(),
    /** 0, 1, 2 … among the outputs of its command. */
    order: z.int(),
    /** Only in the last one: -1 when the command was ended or could not be started. */
    exit_code: z.int().nullable(),
    stdout: z.string().nullable(),
    stderr: z.string().nullable(),
    kind: z.literal('BashOutput'),
  })
  .meta({ id: 'BashOutput' })
export type BashOutput = z.output<typeof BashOutput>

export const BashError = z
  .object({ id, timestamp: dateTimeOut, code: z.string(), detail: z.string(), kind: z.literal('BashError') })
  .meta({ id: 'BashError' })
export type BashError = z.output<typeof BashError>

export const BashEvent = z
  .discriminatedUnion('kind', [BashCommand, BashOutput, BashError])
  .meta({ id: 'BashEventBase' })
export type BashEvent = z.output<typeof BashEvent>

export const BashEventPage = page('BashEventPage', BashEvent)

export const BashEventSortOrder = z.enum(['TIMESTAMP', 'TIMESTAMP_DESC']).meta({ id: 'BashEventSortOrder' })

export const ClearedEvents = z.object({ cleared_count: z.int() }).meta({ id: 'ClearedEvents' })
