import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { newId } from '../../src/lib/id.ts'
import { exchangeJson } from './exchange.ts'
import type { TestServer } from './server.ts'

export interface Bytes {
  status: number
  headers: Record<string, string | undefined>
  body: Buffer
}

/** The files of a server's default sandbox, over its API alone. */
export class RemoteFiles {
  readonly server: TestServer
  /** A folder inside that nobody else uses. */
  readonly folder: string

  static async in(server: TestServer): Promise<RemoteFiles> {
    const { home } = await server.client.getHome()
    const files = new RemoteFiles(server, `${home}/test-${newId()}`)
    await server.client.createDirectory({ query: { path: files.folder } })
    return files
  }

  private constructor(server: TestServer, folder: string) {
    this.server = server
    this.folder = folder
  }

  at(...names: string[]): string {
    return [this.folder, ...names].join('/')
  }

  upload(path: string, content: string | Uint8Array): Promise<Bytes> {
    const form = multipart([{ name: 'file', filename: 'any', content }])
    return this.send({ method: 'POST', path: `/api/file/upload?path=${encodeURIComponent(path)}`, ...form })
  }

  download(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Bytes> {
    return this.send({ method, path: `/api/file/download?path=${encodeURIComponent(path)}`, headers })
  }

  /** Sends a request as it stands, and keeps the answer's bytes. */
  async send({
    method = 'GET',
    path,
    headers = {},
    body,
  }: {
    method?: string
    path: string
    headers?: Record<string, string>
    body?: Uint8Array
  }): Promise<Bytes> {
    const { url, key } = this.server
    const { hostname, port } = new URL(url)
    const sent = request({ hostname, port, method, path, headers: { 'X-Session-API-Key': key, ...headers } })
    sent.end(body)
    const [response] = await once(sent, 'response')
    return { status: response.statusCode, headers: response.headers, body: await buffer(response) }
  }

  /** Runs a script inside. The folder is where it starts. */
  async shell(script: string): Promise<string> {
    const { url, key } = this.server
    const { status, text } = await exchangeJson(url, {
      method: 'POST',
      path: '/api/bash/execute_bash_command',
      headers: { 'X-Session-API-Key': key },
      body: { command: script, cwd: this.folder, timeout: 120 },
    })
    if (status === 200) {
      const { exit_code, stdout, stderr } = JSON.parse(text)
      if (exit_code !== 0) throw new Error(`${script}: ${exit_code} ${stderr}`)
      return stdout ?? ''
    }
    if (await this.isolated()) throw new Error(`No command can be run: ${status} ${text}`)
    return (await promisify(execFile)('sh', ['-c', script], { cwd: this.folder })).stdout
  }

  /** Whether what is inside is somewhere else than on this machine. Set GANTRY_TEST_ISOLATED=1 where it must be. */
  async isolated(): Promise<boolean> {
    if (process.env.GANTRY_TEST_ISOLATED === '1') return true
    return stat(this.folder).then(
      () => false,
      () => true,
    )
  }
}

export interface Field {
  name: string
  filename?: string
  content: string | Uint8Array
}

export function multipart(
  fields: Field[],
  boundary = `b${newId()}`,
): { headers: { 'Content-Type': string }; body: Buffer } {
  const parts = fields.flatMap(({ name, filename, content }) => [
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${
        filename === undefined ? '' : `; filename="${filename}"\r\nContent-Type: application/octet-stream`
      }\r\n\r\n`,
    ),
    Buffer.from(content as Uint8Array),
    Buffer.from('\r\n'),
  ])
  return {
    headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
    body: Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]),
  }
}
