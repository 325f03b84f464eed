import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { OpenFile } from '../sandbox/files.ts'
import { extentOf } from './range.ts'
import { Plain, Streamed } from './reply.ts'
import { drained } from './stream.ts'

/** An open file as an answer: whole, or the range that was asked for, or the word that it has not changed. */
export function fileReply(
  file: OpenFile,
  { headers }: IncomingMessage,
  type: string,
  more: Record<string, string>,
): Plain | Streamed {
  const etag = `"${file.version}"`
  const extent = extentOf(headers, file.size, etag)
  const common = {
    'Accept-Ranges': 'bytes',
    ETag: etag,
    'Last-Modified': new Date(file.modified * 1000).toUTCString(),
    'Cache-Control': 'no-cache',
    ...more,
  }
  if (!('count' in extent)) {
    file.close()
    if (extent.status === 304) return new Streamed(type, out => out.end(), { status: 304, headers: common })
    const body = JSON.stringify({ detail: 'Range Not Satisfiable' })
    return new Plain('application/json', body, { ...common, 'Content-Range': `bytes */${file.size}` }, 416)
  }
  const { status, from, count } = extent
  const range = status === 206 && { 'Content-Range': `bytes ${from}-${from + count - 1}/${file.size}` }
  return new Streamed(type, out => void pour(file.read(from, count), out, count), {
    status,
    headers: { ...common, ...range, 'Content-Length': String(count) },
    abandon: () => file.close(),
  })
}

/** At the peer's pace. What does not come whole is cut off, so that nobody takes it for whole. */
export async function pour(source: Readable, out: ServerResponse, count: number): Promise<void> {
  let left = count
  out.once('close', () => source.destroy())
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      left -= chunk.length
      if (!out.write(chunk)) await drained(out)
    }
  } catch {
    left = -1
  }
  if (left === 0) out.end()
  else out.destroy()
}
