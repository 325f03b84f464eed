import { subscribe } from 'node:diagnostics_channel'
import { writeSync } from 'node:fs'
import { WebSocket } from 'ws'
import { EXCHANGES, type Exchanged } from './exchange.ts'
import type { Verdict } from './published.ts'

// Loaded before every test file: whatever a server answers to a test is compared with the schemas it publishes. The
// tests do not notice; a file that saw a server break its word fails when it ends.

/** Larger answers are pages of what smaller ones hold too. In bytes. */
const LARGEST = 1024 * 1024
/** A loop asks the same thing again and again: after so many of a kind only every n-th is looked at. */
const ALL_OF_A_KIND = process.env.GANTRY_TEST_DEEP ? 200 : 20
const THEN_EVERY = 50
/** Nobody reads on. */
const REPORTED = 20

const counts = new Map<string, number>()
const broken = new Set<string>()
const undeclared = new Set<string>()

function note({ route, findings }: Verdict): void {
  const count = (counts.get(route) ?? 0) + 1
  counts.set(route, count)
  if (count > ALL_OF_A_KIND && count % THEN_EVERY !== 0) return
  const found = findings()
  if (found.issues[0]) broken.add(`${route}: ${found.issues[0]}`)
  for (const key of found.undeclared) undeclared.add(`${route}: ${key}`)
}

/** Only a test that talks to a server needs the route table. */
const published = () => import('./published.ts')

/** Streams have no length: they are left alone. */
const isOurs = (method: string, header: (name: string) => string | null | undefined): boolean =>
  method !== 'HEAD' &&
  !!header('x-request-id') &&
  !!header('content-type')?.startsWith('application/json') &&
  Number(header('content-length') ?? Number.POSITIVE_INFINITY) <= LARGEST

const fetch = globalThis.fetch
globalThis.fetch = async (input, init) => {
  const response = await fetch(input, init)
  const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase()
  if (isOurs(method, name => response.headers.get(name)))
    void see({ method, url: response.url, status: response.status }, response.clone().text())
  return response
}

/** A body that never arrives is the business of the test that stopped it. */
async function see({ url, ...answer }: { method: string; url: string; status: number }, body: Promise<string>) {
  const text = await body.catch(() => undefined)
  if (text === undefined) return
  const { judge } = await published()
  note(judge({ ...answer, path: new URL(url).pathname, text }))
}

subscribe(EXCHANGES, message => {
  const { method, path, status, headers, text } = message as Exchanged
  if (!isOurs(method, name => headers[name]?.toString())) return
  void published().then(({ judge }) => note(judge({ method, path: path.split('?')[0]!, status, text })))
})

const emit = WebSocket.prototype.emit
WebSocket.prototype.emit = function (this: WebSocket, name: string | symbol, ...rest: unknown[]) {
  const [data, binary] = rest
  // Those a server holds have no address.
  if (name === 'message' && this.url && !binary && Buffer.isBuffer(data) && data.length <= LARGEST) {
    const { pathname } = new URL(this.url)
    void published().then(({ judgeFrame }) => {
      const verdict = judgeFrame(pathname, String(data))
      if (verdict) note(verdict)
    })
  }
  return emit.call(this, name, ...rest)
}

const indented = (line: string) => `  ${line}`
const listed = (title: string, found: Set<string>): string[] =>
  found.size > 0 ? [title, ...[...found].sort().slice(0, REPORTED).map(indented)] : []

process.on('exit', () => {
  const report = [...listed('Not as published:', broken), ...listed('Answered, but not declared:', undeclared)]
  if (report.length > 0) writeSync(2, `${report.join('\n')}\n`)
  if (broken.size > 0) process.exitCode = 1
})
