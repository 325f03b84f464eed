import * as z from 'zod'
import { uuid } from '../common.ts'
import type { Access } from '../route.ts'
import { TerminalSize } from '../terminal.ts'
import { time } from './shared.ts'

/** A WebSocket, declared like a route. It stands apart because OpenAPI has no word for it. */
export interface SocketSpec {
  path: RegExp
  access: Access
  params: z.ZodObject
  query: z.ZodObject<{ session_api_key: z.ZodOptional<z.ZodString> }>
}

export const eventsSocket = {
  path: /^\/sockets\/events\/(?<conversation_id>[^/]+)$/,
  access: 'caller',
  params: z.object({ conversation_id: uuid() }),
  query: z.object({
    session_api_key: z.string().optional(),
    /** What to replay: everything, or what was made at or after `after_timestamp`. */
    resend_mode: z.enum(['all', 'since']).optional(),
    after_timestamp: time.optional(),
    resend_all: z.boolean().default(false),
    /** Replay what came after this event: exact, where a time is only nearly so. */
    after: z.string().optional(),
  }),
} satisfies SocketSpec

export const bashSocket = {
  path: /^\/sockets\/bash-events$/,
  access: 'caller',
  params: z.object({}),
  query: z.object({
    session_api_key: z.string().optional(),
    /** What to replay: everything that is remembered, or nothing. */
    resend_mode: z.enum(['all']).optional(),
    resend_all: z.boolean().default(false),
  }),
} satisfies SocketSpec

export const terminalSocket = {
  path: /^\/sockets\/terminal$/,
  access: 'caller',
  params: z.object({}),
  query: z.object({
    session_api_key: z.string().optional(),
    columns: TerminalSize.shape.columns.default(80),
    rows: TerminalSize.shape.rows.default(24),
    /** Where its shell starts; relative to the working directory, which it is without. */
    cwd: z
      .string()
      .regex(/^[^\0]*$/)
      .optional(),
    /** In the sandbox of this conversation, and where it works. */
    conversation_id: uuid().optional(),
  }),
} satisfies SocketSpec

export const sockets = { events: eventsSocket, bash: bashSocket, terminal: terminalSocket }
