import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { describe, test } from 'node:test'
import { READER_BUFFER_BYTES } from '../../src/http/limits.ts'
import { aMessage, anOrder, count, DEEP, TestServer } from '../support/server.ts'
import { TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

const LARGE = 100_000
/** A reader that keeps up has an event this long after it was acknowledged, at most, on a machine that is busy. */
const PROMPT_MS = 2000
/** What the system's own buffers may swallow before ours begin to fill, in messages. */
const SWALLOWED = 600

/** A reader over real TCP that can stop reading. */
interface Reader {
  readonly seen: readonly string[]
  readonly closed: { code: number; reason: string } | undefined
  pause(): void
  resume(): void
  leave(): void
}

/** Called with each event, by those who want to stop there. */
type OnEvent = (reader: Reader) => void

const ways: Record<string, (server: TestServer, id: string, after: string | undefined, onEvent?: OnEvent) => Reader> = {
  socket(server, id, after, onEvent) {
    const query = after === undefined ? 'resend_mode=all' : `after=${after}`
    const { socket, ...rest } = new TestSocket(server.url, `/sockets/events/${id}?${query}`)
    void rest
    const seen: string[] = []
    let closed: Reader['closed']
    const reader: Reader = {
      seen,
      get closed() {
        return closed
      },
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      leave: () => socket.terminate(),
    }
    return reader
  },
}
