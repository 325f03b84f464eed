import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

export interface Exchange {
  method?: string
  /** Sent as it stands: not resolved, not escaped. */
  path?: string
  headers?: Record<string, string>
  body?: string | Uint8Array
}

/** Where every exchange is told: who validates answers listens there. */
export const EXCHANGES = 'gantry.test.exchange'
export type Exchanged = Answer & { method: string; path: string }

const told = channel(EXCHANGES)
const agent = new Agent({ keepAlive: true, maxSockets: 16 })

/** A request that says exactly what it is told to: unlike `fetch` it sends any Host, Origin, Cookie and Sec-Fetch-Site. */
export async function exchange(
  url: string,
  { method = 'GET', path = '/', headers = {}, body }: Exchange = {},
): Promise<Answer> {
  const { hostname, port } = new URL(url)
  const sent = request({ agent, hostname, port, method, path, headers })
  sent.end(body)
  const [response] = await once(sent, 'response')
  const answer = { status: response.statusCode, headers: response.headers, text: await text(response) }
  told.publish({ ...answer, method, path } satisfies Exchanged)
  return answer
}

/** The same with a JSON body. */
export const exchangeJson = (
  url: string,
  { body, headers = {}, ...rest }: Omit<Exchange, 'body'> & { body: unknown },
) =>
  exchange(url, {
    ...rest,
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

/** Bytes over a connection of their own, however wrong they are. The answer is what came until the server hung up. */
export async function sendRaw(url: string, bytes: string): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let answer = ''
  socket.setEncoding('latin1').on('data', chunk => {
    answer += chunk
  })
  socket.on('error', () => undefined)
  socket.write(bytes, 'latin1')
  await once(socket, 'close')
  return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0), text: answer }
}

/** A request head, ready for `sendRaw`: the server hangs up after its answer. */
export const head = (line: string, ...headers: string[]): string =>
  `${[line, ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`

/** All of them, some at a time: results in order. */
export async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>, width = 16): Promise<R[]> {
  const results: R[] = new Array(items.length)
  let next = 0
  const worker = async () => {
    while (next < items.length) {
      const i = next++
      results[i] = await work(items[i]!)
    }
  }
  await Promise.all(Array.from({ length: width }, worker))
  return results
}
