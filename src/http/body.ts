import type { IncomingMessage } from 'node:http'
import { Fault, fault } from '../api/errors.ts'
import { isDeeper, NESTING } from '../lib/depth.ts'
import { Invalid } from './validation.ts'

/**
 * The JSON body, or undefined for an empty one. Read from the connection itself: a GET may carry a body here, and the
 * limit must hold before the bytes are kept.
 */
export async function readJson(incoming: IncomingMessage, limit: number): Promise<unknown> {
  const bytes = await readBytes(incoming, limit)
  if (bytes.length === 0) return undefined
  if (!isJson(incoming.headers['content-type'])) throw fault('unsupported_media_type', 'application/json')
  const value = parseJson(bytes)
  if (isDeeper(value, NESTING))
    throw new Invalid([{ type: 'recursion_loop', loc: ['body'], msg: 'Input is nested too deeply' }])
  return value
}

/** A body that is one file. Many a program calls any file a stream of octets. */
export async function readFile(incoming: IncomingMessage, type: string, limit: number): Promise<Buffer> {
  const [given = ''] = incoming.headers['content-type']?.toLowerCase().split(';') ?? []
  if (![type, 'application/octet-stream'].includes(given.trim())) throw fault('unsupported_media_type', type)
  return readBytes(incoming, limit)
}

async function readBytes(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > limit) throw fault('body_too_large', limit)
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > limit) throw fault('body_too_large', limit)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof Fault) throw error
    throw fault('bad_request', 'The request ended in the middle of its body')
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

const isJson = (type: string | undefined): boolean => /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type ?? '')

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    const position = Number(/position (\d+)/.exec((error as Error).message)?.[1] ?? 0)
    throw new Invalid([{ type: 'json_invalid', loc: ['body', position], msg: 'JSON decode error', input: {} }])
  }
}
