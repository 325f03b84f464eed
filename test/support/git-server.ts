import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { tempFolder } from './server.ts'

/** Not 127.0.0.1: that is what a command in a sandbox reaches by itself, its own. */
const ADDRESS = '127.0.0.2'
const BACKEND = '/usr/lib/git-core/git-http-backend'
export const NO_GIT_SERVER: string | false = !existsSync(BACKEND) && `there is no ${BACKEND}`

export interface Hosted {
  /** Who is let in; everybody unless given. What is said then is what is said of what is not there, as hosts do. */
  token?: string
  /** Instead of an answer: a status, silence, the half of one, or one that comes a byte at a time. */
  answer?: number | 'nothing' | 'half' | 'slowly'
  /** The host that it sends everybody to. */
  redirect?: string
}

/** A host of repositories, as git meets one: smart HTTP with Basic authentication. */
export class GitServer implements AsyncDisposable {
  readonly folder: string
  /** By name, `owner/name`. */
  readonly hosted = new Map<string, Hosted>()
  /** What was asked, in order: the method, the host and the path, and the token that came with it. */
  readonly asked: { method: string; host: string; url: string; token: string | undefined }[] = []
  readonly #server: Server

  private constructor(folder: string) {
    this.folder = folder
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  static async open(): Promise<GitServer> {
    const server = new GitServer(await tempFolder())
    await once(server.#server.listen(0, ADDRESS), 'listening')
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get host(): string {
    return `${ADDRESS}:${this.port}`
  }

  /** Makes a repository by a script that runs in a clone of it, whose branch is `main`. */
  async add(name: string, script = '', hosted: Hosted = {}): Promise<void> {
    this.hosted.set(name, hosted)
    await mkdir(join(this.folder, name), { recursive: true })
    const bare = `git init -q --bare -b main . && git config http.receivepack true && git config uploadpack.allowAnySHA1InWant true`
    this.sh(name, bare)
    if (script) await this.change(name, script)
  }

  /** Pushes all branches and tags that a script makes in a fresh clone. */
  async change(name: string, script: string): Promise<void> {
    const work = join(this.folder, '.work')
    await rm(work, { recursive: true, force: true })
    this.sh(
      '.',
      `git clone -q '${name}' .work 2>/dev/null; cd .work; git checkout -q main 2>/dev/null || git checkout -q -b main`,
    )
    this.sh('.work', `set -e; ${script}\ngit push -q --all; git push -q --tags`)
  }

  sh(name: string, script: string): string {
    const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', script], {
      cwd: join(this.folder, name),
      env: { PATH: process.env.PATH, HOME: this.folder, ...WHO },
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`${script}: ${stdout}${stderr}`)
    return stdout.trim()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
    await rm(this.folder, { recursive: true, force: true })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url!, 'http://host')
    const token = tokenOf(request)
    const host = request.headers.host ?? ''
    this.asked.push({ method: request.method!, host, url: request.url!, token })
    const [, name = '', rest = ''] = /^\/(.+?)\.git(\/.*)$/.exec(pathname) ?? []
    const hosted = this.hosted.get(name)
    if (typeof hosted?.answer === 'number') return void response.writeHead(hosted.answer).end('no')
    if (hosted?.answer === 'nothing') return
    if (hosted?.redirect && !host.startsWith(hosted.redirect))
      return void response.writeHead(301, { Location: `http://${hosted.redirect}${request.url}` }).end()
    const denied = !hosted || (hosted.token !== undefined && token !== hosted.token)
    if (denied && token === undefined)
      return void response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="git"' }).end()
    if (denied) return void response.writeHead(404, { 'Content-Type': 'text/plain' }).end('Repository not found.')
    const child = spawn(BACKEND, {
      env: {
        GIT_PROJECT_ROOT: this.folder,
        GIT_HTTP_EXPORT_ALL: '1',
        REQUEST_METHOD: request.method!,
        PATH_INFO: `/${name}${rest}`,
        QUERY_STRING: search.slice(1),
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        REMOTE_USER: 'somebody',
        PATH: process.env.PATH,
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    child.stdin.on('error', () => undefined)
    request.pipe(child.stdin)
    const pieces: Buffer[] = await child.stdout.toArray()
    const output = Buffer.concat(pieces)
    const end = output.indexOf('\r\n\r\n')
    const headers = Object.fromEntries(
      output
        .subarray(0, end)
        .toString('latin1')
        .split('\r\n')
        .map(line => line.split(': ', 2) as [string, string]),
    )
    const { Status = '200', ...others } = headers
    const body = output.subarray(end + 4)
    response.writeHead(Number.parseInt(Status, 10), others)
    // What is asked first is answered: it is the pack that does not come, or does not end.
    if (request.method === 'GET' || hosted.answer === undefined || body.length < PACK_BYTES) response.end(body)
    else if (hosted.answer === 'half') response.write(body.subarray(0, body.length / 2), () => response.destroy())
    else await drip(response, body)
  }
}

/** More than the answer to a question about branches. */
const PACK_BYTES = 4_000

/** A byte now and then, until the other side has had enough. */
async function drip(response: ServerResponse, body: Buffer): Promise<void> {
  let at = 0
  const timer = setInterval(() => response.write(body.subarray(at, ++at)), 100)
  await once(response, 'close')
  clearInterval(timer)
}

const WHO = {
  GIT_AUTHOR_NAME: 'Ann',
  GIT_AUTHOR_EMAIL: 'ann@example.org',
  GIT_COMMITTER_NAME: 'Ann',
  GIT_COMMITTER_EMAIL: 'ann@example.org',
  GIT_CONFIG_NOSYSTEM: '1',
}

function tokenOf({ headers }: IncomingMessage): string | undefined {
  const [scheme, encoded = ''] = (headers.authorization ?? '').split(' ')
  return scheme === 'Basic' ? Buffer.from(encoded, 'base64').toString().split(':').slice(1).join(':') : undefined
}
