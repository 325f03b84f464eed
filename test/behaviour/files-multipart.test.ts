import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { Fault } from '../../src/api/errors.ts'
import { FORM_BYTES } from '../../src/http/limits.ts'
import { fileOf } from '../../src/http/multipart.ts'
import { Invalid } from '../../src/http/validation.ts'
import { type Field, multipart } from '../support/files.ts'
import { Random } from '../support/random.ts'
import { count } from '../support/server.ts'

const random = new Random()

const asRequest = (chunks: Uint8Array[], type: string): IncomingMessage =>
  Object.assign(Readable.from(chunks), { headers: { 'content-type': type } }) as unknown as IncomingMessage

async function read(chunks: Uint8Array[], type: string, limit = 1e9): Promise<Buffer> {
  const parts: Buffer[] = []
  // Copied, for nothing says that a chunk stays as it was.
  for await (const part of fileOf(asRequest(chunks, type), 'file', limit)) parts.push(Buffer.from(part))
  return Buffer.concat(parts)
}

function cut(bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const size = random.pick([1, 1, 2, 3, 7, 50, 1000, 70_000])
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  return chunks
}

/** Content that looks as much like a boundary as it can without being one. */
function content(boundary: string): Buffer {
  const pieces = [
    '\r\n',
    '--',
    `--${boundary}`.slice(0, -1),
    `\r\n--${boundary}`.slice(0, -1),
    '\r',
    '\n',
    'x',
    '\0',
    'text',
  ]
  let text = Array.from({ length: random.int(60) }, () => random.pick(pieces)).join('')
  while (`\r\n${text}`.includes(`\r\n--${boundary}`)) text = text.replace(`--${boundary}`, '')
  return Buffer.from(text)
}

describe('a multipart form', () => {
  const cases = count({ sample: 2000, deep: 40_000 })
  test(`${cases} forms, cut into pieces anywhere, give the file as it was (seed ${random.seed})`, async () => {
    for (let i = 0; i < cases; i++) {
      const boundary = random.pick(['b', '----WebKitFormBoundaryAbC123', "x'()+_,-./:=?x", 'a'.repeat(70)])
      const file = {
        name: 'file',
        filename: random.pick(['f', 'a; name="other"', 'ü', 'x'.repeat(500)]),
        content: content(boundary),
      }
      const others: Field[] = Array.from({ length: random.int(3) }, (_, i) => ({
        name: random.pick(['other', 'files', 'FILE', '']) + i,
        content: content(boundary),
      }))
      const at = random.int(others.length + 1)
      const fields = [...others.slice(0, at), file, ...others.slice(at)]
      const { body } = multipart(fields, boundary)
      const whole = Buffer.concat([
        Buffer.from(random.pick(['', '', 'a preamble\r\n'])),
        body,
        Buffer.from(random.pick(['', 'after'])),
      ])
      const type = `multipart/form-data; ${random.pick(['', 'charset=utf-8; '])}boundary="${boundary}"`
      assert.ok((await read(cut(whole), type)).equals(file.content), `${i}: ${JSON.stringify(fields)}`)
    }
  })

  test('cut short anywhere gives an error, never a shorter file', async () => {
    const { body, headers } = multipart(
      [
        { name: 'a', content: 'b' },
        { name: 'file', filename: 'f', content: 'some content' },
      ],
      'b',
    )
    const end = body.length - 2
    for (let length = 0; length < end; length++)
      await assert.rejects(read([body.subarray(0, length)], headers['Content-Type']))
    assert.equal((await read([body.subarray(0, end)], headers['Content-Type'])).toString(), 'some content')
  })

  test('with bytes changed is an error or a form, never a crash', async () => {
    const { body, headers } = multipart([{ name: 'file', filename: 'f', content: 'some content' }], 'b')
    for (let i = 0; i < cases; i++) {
      const changed = Buffer.from(body)
      for (let n = 1 + random.int(4); n > 0; n--)
        changed[random.int(changed.length)] = random.pick([0, 10, 13, 34, 45, 255, 98])
      await read(cut(changed), headers['Content-Type']).catch(error => {
        assert.ok((error instanceof Fault && error.status < 500) || error instanceof Invalid, String(error))
      })
    }
  })

  test('holds little beside the file', async () => {
    const file = { name: 'file', filename: 'f', content: 'x' }
    const large = 'x'.repeat(FORM_BYTES + 1)
    const isTooLarge = (error: unknown) => error instanceof Fault && error.code === 'body_too_large'
    for (const fields of [
      [{ name: 'a', content: large }, file],
      [file, { name: 'a', content: large }],
      [{ name: large, content: '' }],
    ]) {
      const { body, headers } = multipart(fields)
      await assert.rejects(read(cut(body), headers['Content-Type']), isTooLarge)
    }
    const many = multipart([...Array.from({ length: 5000 }, () => ({ name: 'a', content: '' })), file])
    await assert.rejects(read([many.body], many.headers['Content-Type']), isTooLarge)
    const { body, headers } = multipart([{ ...file, content: 'x'.repeat(100) }])
    await assert.rejects(read([body], headers['Content-Type'], 99), isTooLarge)
    assert.equal((await read([body], headers['Content-Type'], 100)).length, 100)
  })

  test('needs a boundary, and is nothing else', async () => {
    const { body } = multipart([{ name: 'file', filename: 'f', content: 'x' }], 'b')
    for (const type of [
      'multipart/form-data',
      'multipart/form-data; boundary=',
      `multipart/form-data; boundary=${'b'.repeat(71)}`,
    ])
      await assert.rejects(read([body], type), (error: unknown) => error instanceof Fault && error.status === 400)
    for (const type of ['', 'text/plain', 'multipart/mixed; boundary=b', 'multipart/form-datax; boundary=b'])
      await assert.rejects(read([body], type), Invalid)
  })
})
