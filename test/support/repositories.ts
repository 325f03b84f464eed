import { newId } from '../../src/lib/id.ts'
import { type PrepareOptions, prepareRepository } from '../../src/repository/prepare.ts'
import type { RepositoryOrder, Step } from '../../src/repository/repository.ts'
import { EgressProxy } from '../../src/sandbox/egress/proxy.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { GitServer, NO_GIT_SERVER } from './git-server.ts'
import { Inside, KINDS } from './inside.ts'

const kind = KINDS.find(({ skip }) => !skip)
export const NO_REPOSITORIES: string | false = (!kind && 'nothing isolates here') || NO_GIT_SERVER

export const TOKEN = 'ghp_thisIsAVerySecretToken/+=1234567890'

/** A sandbox that reaches one host of repositories, `git.test`, and nothing else. */
export class Bench implements AsyncDisposable {
  readonly host: GitServer
  readonly inside: Inside
  readonly #proxy: EgressProxy

  private constructor(host: GitServer, inside: Inside, proxy: EgressProxy) {
    this.host = host
    this.inside = inside
    this.#proxy = proxy
  }

  static async open(): Promise<Bench> {
    const host = await GitServer.open()
    const lookup = async (name: string) => {
      if (name.endsWith('.test')) return ['127.0.0.2']
      throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
    }
    const proxy = new EgressProxy({ forbidden: [], onRefused: () => undefined, lookup })
    const inside = await Inside.open({ walls: kind!.walls, gate: proxy })
    const bench = new Bench(host, inside, proxy)
    await bench.start('box')
    return bench
  }

  async start(id: string, env: Record<string, string> = {}): Promise<void> {
    const hosts = [
      `git.test:${this.host.port}`,
      `elsewhere.test:${this.host.port}`,
      `absent.example:${this.host.port}`,
      '127.0.0.2',
    ]
    await this.inside.start(id, { egress: { mode: 'hosts', hosts }, env })
  }

  get sandbox(): Sandbox {
    return this.inside.backend.sandbox('box')
  }

  sh(script: string): Promise<string> {
    return this.inside.sh(script).then(text => text.trim())
  }

  /** An order for a repository of the host, in a folder that nobody else has. */
  order(repository: string, more: Partial<RepositoryOrder> & { token?: string | null } = {}): RepositoryOrder {
    const { token = null, ...rest } = more
    return {
      remote: {
        provider: 'github',
        repository,
        url: `http://git.test:${this.host.port}/${repository}.git`,
        credential: token === null ? null : { username: 'x-access-token', token, variable: 'GITHUB_TOKEN' },
      },
      folder: `/workspace/${newId()}/app`,
      branch: null,
      workBranch: 'openhands-workspace-1',
      fullHistory: false,
      shared: null,
      identity: null,
      ...rest,
    }
  }

  prepare(order: RepositoryOrder, options: Partial<PrepareOptions> & { sandbox?: Sandbox } = {}): Promise<Step> {
    const { sandbox = this.sandbox, ...more } = options
    return prepareRepository(sandbox, order, { signal: new AbortController().signal, ...more })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.inside[Symbol.asyncDispose]()
    this.#proxy.close()
    await this.host[Symbol.asyncDispose]()
  }
}
